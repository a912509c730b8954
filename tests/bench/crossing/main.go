// Command crossing is built as a C shared library with one function that does
// nothing: calling it from C costs what entering and leaving Go costs.
package main

import "C"

//export bench_cross
func bench_cross(value C.ulonglong) C.ulonglong { return value }

func main() {}
