// Command crossing is built as a C shared library with one function that does nothing. A
// call of it from C costs as much as entering and leaving Go.
package main

import "C"

//export bench_cross
func bench_cross(value C.ulonglong) C.ulonglong { return value }

func main() {}
