// Package general is the kernels of the CPU engine for all types of elements, one element at a
// time: floating point in F64, integers in 64 bits. The kernels of the instruction sets compute the
// types of models much faster; the engine uses this package for the others, and for what is rare.
//
// The kernels take the same requests as those of the sets. The package is compiled once, without
// flags for an instruction set.
//
// It owns nothing and starts nothing.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// numbers.h, elements.h, reduction.h, product.h, normalisation.h, scores.h, general.h, general.c,
// table.go, and kept.go.
package general
