// Package dtype describes the data types of tensors: their names, how their elements are
// stored, and how a value of one type becomes a value of another.
//
// The types are those of the C ABI (ferrum_dtype). A type stores its elements in blocks of
// whole bytes. A block of most types is one element. Two elements of a 4-bit type share a
// byte: the element with the even index is in the low four bits. Types of GGUF store 32 or
// 256 elements with their scales in a block.
//
// Convert works on plain types, whose elements are independent. These are its rules:
//
//   - To a floating-point type: round to the nearest value, ties to the value with an even
//     mantissa. Every conversion rounds once, also from 64-bit integers.
//   - A value above the largest finite one becomes infinity where the type has infinities,
//     NaN where it has only NaN (F8_E4M3, F8_E8M0), and the largest value otherwise (F4_E2M1).
//   - NaN stays NaN with its sign. F4_E2M1 has no NaN: NaN becomes -0. F8_E8M0 has powers of
//     two only: zero, negative numbers and infinities become NaN.
//   - From floating point to integer: the fraction is dropped. A value outside the range
//     becomes the nearest end of the range, and NaN becomes 0.
//   - From integer to integer: the low bits are kept, in two's complement.
//   - To BOOL: every value but 0 becomes 1.
//
// The rules for floating point are those of the Python package ml_dtypes, which the tests
// compare with.
//
// Dequantise reads the block types of GGUF. Convert rounds floating-point elements to blocks of Q8_0 and
// Q4_0: a block has one scale, so its elements depend on each other.
//
// The package owns nothing and starts nothing. All functions may be called from any number
// of threads.
//
// # Files in reading order
//
// dtype.go, small_floats.go, gguf_blocks.go, quantise.go, convert.go.
package dtype
