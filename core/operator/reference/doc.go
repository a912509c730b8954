// Package reference computes the operators of package operator with simple loops, as the
// reference model of fast engines.
//
// Floating-point elements are computed in float64 and rounded to the type of the output only by
// Tensor.Bytes. Integers are computed in 64 bits and wrap to their type. These rules go beyond the
// ONNX standard:
//
//   - NaN and infinities pass through the formulas of the standard as in NumPy. Maxima with a NaN
//     are NaN. ArgMax and TopK take NaN as the largest element.
//   - An integer divided by 0 is 0. ReduceMean of integers drops the fraction; of no elements it
//     is NaN, or 0 for integers. A negative power of an integer drops the fraction too.
//   - Attention does not read a key whose bias is -infinity: such a key has probability 0, whatever
//     its elements are.
//   - Indices of Gather and positions of RotaryEmbedding outside their range are errors.
//
// The package is for tests: it needs memory and time in proportion to the shapes.
//
// Lock order: the package has no locks and keeps nothing.
//
// # Files in reading order
//
// index.go, tensor.go, run.go, cast.go, arithmetic.go, movement.go, reduction.go, order.go, product.go,
// normalisation.go, rotary.go, attention.go, paged.go, compute.go.
package reference
