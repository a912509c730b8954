// Package kernels is the source of the CPU engine's kernels: C with the vector extensions of
// GCC and Clang. The packages of the instruction sets compile it, each with flags of its own.
//
// A kernel is a function of a request, which is a struct of numbers and addresses. It
// allocates nothing, takes no lock and calls nothing. It computes one part of a request, so
// that several threads can compute the parts at the same time. Kernels compute in F32.
//
// The package embeds its source. An embedded file is a part of what the packages of the sets
// are built from, so a change of the source builds them again. The linker drops the text.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// interface.h, vector.h, elements.h, math.h, map.h, panels.h, tile.h, vector_product.h,
// fixed_product.h, finish.h, matmul.h, rows.h, turn.h, pages.h, attention.h, few.h, data.h, where.h, order.h, top.h, reduce.h, rotary.h,
// table.h, and source.go.
package kernels
