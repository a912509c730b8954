package cpu

import (
	"encoding/binary"
	"math"
	"unsafe"

	"ferrum_mem/core/dtype"
)

// maxDepth is the largest number of elements of a query in the kernels of the instruction sets.
const maxDepth = 512

// Attention that keeps all scores in registers has at most fewKeys keys. For larger numbers than the
// others, the kernel for any number of keys is as fast, or can use several threads.
const (
	fewKeys    = 16
	fewQueries = 64
	fewDepth   = 64
)

// Attention computes y = softmax(Scale q k^T + mask) v, for each head of each batch. It needs no
// matrix of all scores: its workspace is below 1 MiB for each thread. The elements of a key that is
// hidden from a query do not matter to it. A query that sees no key has the result 0.
//
// Heads is a multiple of KeyHeads; query head h reads the keys and values of head
// h * KeyHeads / Heads. Depth is the number of elements of a query and of a key, at most 512;
// ValueDepth is that of a value and of a result. Types of q, k, v: F32, F16, BF16, I8; of y:
// F32, F16, BF16. y overlaps no input.
//
// The general form has F64 or a mask of other types, a larger Depth, or Scores.
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

	// Mask is added to the scores, or absent if it is 0: F32, F16, BF16, I8, or BOOL. False or
	// -infinity hides a key. Its strides may be 0. It has MaskKeys keys; later keys are hidden.
	Mask                                            uint64
	MaskType                                        Type
	MaskBatch, MaskHead, MaskRow, MaskKey, MaskKeys int64

	// Lengths is the address of an I64 for each batch, or 0: how many of the keys are valid.
	Lengths uint64

	// Tables is the address of an I32 for each batch and page, or 0. With it the keys and values are in pages of
	// PageTokens tokens, and KBatch and VBatch are the distances of the pages. Key j of a batch is row
	// j % PageTokens of the page Tables[batch * TableRow + j / PageTokens], of Pages pages. Lengths then has I32, Keys
	// is TableRow * PageTokens, and a length above Keys, or a number that is no page, is CodeInvalidArgument if a query
	// sees a key of the page. Other pages are not read.
	Tables                      uint64
	TableRow, PageTokens, Pages int64

	// If HasLast is 1, query i sees the keys up to i + Last; if HasFirst is 1, those from
	// i + First on. If FollowsLength is 1, the length minus Queries is added to both.
	HasLast, Last, HasFirst, First, FollowsLength int64

	Scale float64
	// Softcap above 0 replaces a score s by Softcap * tanh(s / Softcap), before the mask.
	Softcap float64

	// Scores receives the scores of Stage, or is absent if it is 0: 0 the product, 1 after
	// Softcap, 2 after the mask, 3 after softmax. Y may then be absent.
	Scores                                        uint64
	ScoresType                                    Type
	ScoresBatch, ScoresHead, ScoresRow, ScoresKey int64
	Stage                                         int64
}

func (r *Attention) kernel() kernel {
	isMask := r.Mask == 0 || isInput(r.MaskType) || r.MaskType.isOf(dtype.Bool)
	isFast := isInput(r.QType) && isInput(r.KType) && isInput(r.VType) && isOutput(r.YType) && isMask &&
		r.Scores == 0 && r.Depth <= maxDepth
	switch {
	case !isFast:
		return generalAttention
	case r.isFew():
		return kernelFew
	}
	return kernelAttention
}

// isFew states whether all scores stay in registers. Elements are then read four at a time.
func (r *Attention) isFew() bool {
	inOrder := r.QStep == 1 && r.KStep == 1 && r.VStep == 1 && r.YStep == 1
	areF32 := r.QType.isOf(dtype.F32) && r.KType.isOf(dtype.F32) && r.VType.isOf(dtype.F32) && r.YType.isOf(dtype.F32)
	isPlain := r.Mask == 0 && r.Lengths == 0 && r.HasFirst == 0 && r.Softcap == 0
	if !inOrder || !areF32 || !isPlain || r.Depth%4 != 0 || r.ValueDepth%4 != 0 {
		return false
	}
	within := func(n, most int64) bool { return 1 <= n && n <= most }
	return within(r.Keys, fewKeys) && within(r.Depth, fewDepth) && within(r.ValueDepth, fewDepth) &&
		within(r.Batch, fewQueries) && within(r.Heads, fewQueries) && within(r.Queries, fewQueries) &&
		r.Batch*r.Heads*r.Queries <= fewQueries
}

func (r *Attention) address() unsafe.Pointer { return unsafe.Pointer(r) }

func (r *Attention) layout() (uintptr, []*uint64) {
	return unsafe.Sizeof(*r), []*uint64{&r.Q, &r.K, &r.V, &r.Y, &r.Mask, &r.Lengths, &r.Tables, &r.Scores}
}

func (r *Attention) clone() Request { c := *r; return &c }

func (r *Attention) check() error {
	for _, n := range []int64{r.Batch, r.Heads, r.KeyHeads, r.Queries, r.Keys, r.Depth, r.ValueDepth} {
		if n < 0 || n > math.MaxInt32 {
			return invalid("attention with a dimension of %d", n)
		}
	}
	switch {
	case r.KeyHeads == 0 || r.Heads%r.KeyHeads != 0:
		return invalid("attention of %d heads with %d heads of keys", r.Heads, r.KeyHeads)
	case r.Mask != 0 && !r.MaskType.isNumber() && !r.MaskType.isOf(dtype.Bool):
		return unsupported("attention with a mask of %v", r.MaskType)
	case r.Stage < 0 || r.Stage > 3:
		return invalid("attention with the scores of stage %d", r.Stage)
	}
	if r.Tables != 0 {
		if r.PageTokens < 1 || r.TableRow < 0 || r.Keys != r.TableRow*r.PageTokens || r.Pages < 0 || r.Lengths == 0 {
			return invalid("attention to %d keys in %d pages of %d tokens, of %d pages", r.Keys, r.TableRow, r.PageTokens, r.Pages)
		}
	}
	if err := checkInputs("attention", r.QType, r.KType, r.VType); err != nil {
		return err
	}
	return checkOutputs("attention", r.YType, r.ScoresType)
}

func (r *Attention) indices() uint64 { return r.Tables }

func (r *Attention) outOfRange(place int64, tables uint64) error {
	if place < r.Batch {
		return invalid("the length of sequence %d is out of the %d tokens of its blocks", place, r.Keys)
	}
	place -= r.Batch
	page := int32(binary.NativeEndian.Uint32(bytesAt(tables+uint64(4*place), 4)))
	return invalid("block %d of sequence %d is %d, which is out of the %d blocks", place%r.TableRow, place/r.TableRow, page, r.Pages)
}
