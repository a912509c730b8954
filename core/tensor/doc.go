// Package tensor gives memory a data type, a shape and strides.
//
// A Tensor is a view of a storage: memory that was allocated for it in a pool, a model or a
// range, or memory that another owner lends until its release is called. Narrow, Slice, Permute,
// Transpose, Expand and Reshape give further tensors over the same storage and move no
// element. The storage ends with its last tensor. A Tensor never changes: only the elements
// do.
//
// Elements are ordered by streams, like all memory: a copy is queued, and returns at once. The
// memory of a sleeping model has no elements, so each use takes a hold on the storage first
// and fails with CodeBusy while the model sleeps. A forced end of the memory waits for the holds.
// A tensor that is closed during a call keeps its storage until the call has ended.
//
// The bytes of an opaque tensor have an order that only an engine knows. It has no views with
// other shapes and is not copied, but its memory sleeps and ends like any other.
//
// Types with several elements in a byte or block (the 4-bit types and those of GGUF) have only
// contiguous tensors, whose parts begin and end at whole blocks.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// storage.go, tensor.go, opaque.go, views.go, copy.go, fill.go, host.go, use.go.
package tensor
