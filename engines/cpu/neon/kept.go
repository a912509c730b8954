//go:build cgo && arm64 && !windows

package neon

// For a shared library Go compiles the C code of a package again in each build, unless the package
// exports a function: it looks for the header of the exports among its earlier results.

import "C"

// The shared library hides the function.
//
//export fkKeptNeon
func fkKeptNeon() {}
