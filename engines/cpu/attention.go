package cpu

import (
	"math"
	"unsafe"

	"ferrum_mem/core/dtype"
)

// maxDepth is the largest number of elements of a query.
const maxDepth = 512

// Attention computes y = softmax(Scale q k^T + mask) v, for each head of each batch. It needs no
// matrix of all scores: its workspace is below 1 MiB for each thread.
//
// Heads is a multiple of KeyHeads; query head h reads the keys and values of head
// h * KeyHeads / Heads. Depth is the number of elements of a query and of a key, at most 512;
// ValueDepth is that of a value and of a result. Types of q, k, v: F32, F16, BF16, I8; of y:
// F32, F16, BF16. y overlaps no input. A query that sees no key has the result NaN.
type Attention struct {
	Batch, Heads, KeyHeads, Queries, Keys, Depth, ValueDepth int64

	Q                          uint64
	QType                      Type
	QBatch, QHead, QRow, QStep int64

	K                          uint64
	KType                      Type
	KBatch, KHead, KRow, KStep int64

	V                          uint64
	VType                      Type
	VBatch, VHead, VRow, VStep int64

	Y                          uint64
	YType                      Type
	YBatch, YHead, YRow, YStep int64

	// Mask is added to the scores, or absent if it is 0: F32, F16, BF16, or BOOL, where false
	// hides a key. Its strides may be 0.
	Mask                                  uint64
	MaskType                              Type
	MaskBatch, MaskHead, MaskRow, MaskKey int64

	// Lengths is the address of an I64 for each batch, or 0: how many of the keys are valid.
	Lengths uint64

	// If IsCausal is 1, query i sees the keys up to i + Offset.
	IsCausal, Offset int64

	Scale float64
	// Softcap above 0 replaces a score s by Softcap * tanh(s / Softcap), before the mask.
	Softcap float64
}

func (*Attention) kernel() kernel { return kernelAttention }

func (r *Attention) address() unsafe.Pointer { return unsafe.Pointer(r) }

func (r *Attention) check() error {
	for _, n := range []int64{r.Batch, r.Heads, r.KeyHeads, r.Queries, r.Keys, r.Depth, r.ValueDepth} {
		if n < 0 || n > math.MaxInt32 {
			return invalid("attention with a dimension of %d", n)
		}
	}
	switch {
	case r.KeyHeads == 0 || r.Heads%r.KeyHeads != 0:
		return invalid("attention of %d heads with %d heads of keys", r.Heads, r.KeyHeads)
	case r.Depth > maxDepth:
		return unsupported("attention with queries of %d elements; there can be %d", r.Depth, maxDepth)
	case r.Mask != 0 && !r.MaskType.isOf(dtype.F32, dtype.F16, dtype.BF16, dtype.Bool):
		return unsupported("attention with a mask of %v", r.MaskType)
	}
	if err := checkInputs("attention", r.QType, r.KType, r.VType); err != nil {
		return err
	}
	return checkOutputs("attention", r.YType)
}
