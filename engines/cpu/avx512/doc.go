// Package avx512 is the kernels of the CPU engine, compiled for AVX-512. The source is in package
// kernels; a package of its own has compiler flags of its own.
//
// It owns nothing and starts nothing.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// table.go; kernels.c includes the source.
package avx512
