package operations

import (
	"math"

	"ferrum_mem/engines/cpu"
)

// The inputs and outputs of Attention.
const (
	query = iota
	key
	value
	mask
	pastKey
	pastValue
	lengths
)

const (
	presentKey = 1 + iota
	presentValue
	scores
)

func (l *lowering) attention() error {
	h := l.layout.Heads
	k, err := l.cache(key, pastKey, presentKey, h.Size)
	if err != nil {
		return err
	}
	v, err := l.cache(value, pastValue, presentValue, h.ValueSize)
	if err != nil || !l.out(0).isPresent() && !l.out(scores).isPresent() || h.QueryHeads == 0 {
		return err
	}
	r := l.attend(inHeads(l.in(query), h.Size), k, v)
	r.Softcap = l.op.Float("softcap")
	if l.out(0).isPresent() {
		y := inHeads(l.out(0), h.ValueSize)
		r.Y, r.YType, r.YBatch, r.YHead, r.YRow, r.YStep = y.place(), y.cpuType(), y.batch, y.head, y.row, y.step
	}
	if s := l.out(scores); s.isPresent() {
		r.Scores, r.ScoresType, r.Stage = s.place(), s.cpuType(), l.op.Int("qk_matmul_output_mode")
		r.ScoresBatch, r.ScoresHead, r.ScoresRow, r.ScoresKey = s.strides[0], s.strides[1], s.strides[2], s.strides[3]
	}
	l.setMask(r, l.in(mask))
	l.setSight(r)
	if in := l.in(lengths); in.isPresent() {
		list, err := l.contiguous(in)
		if err != nil {
			return err
		}
		r.Lengths, r.FollowsLength = list.place(), 1
	}
	l.add(r)
	return nil
}

// attend returns the request for some queries, keys and values.
func (l *lowering) attend(q, k, v headed) *cpu.Attention {
	h := l.layout.Heads
	return &cpu.Attention{
		Batch: int64(h.Batch), Heads: int64(h.QueryHeads), KeyHeads: int64(h.KeyHeads), Queries: int64(h.Queries), Keys: int64(h.Keys),
		Depth: int64(h.Size), ValueDepth: int64(h.ValueSize), Scale: l.scale(),
		Q: q.place(), QType: q.cpuType(), QBatch: q.batch, QHead: q.head, QRow: q.row, QStep: q.step,
		K: k.place(), KType: k.cpuType(), KBatch: k.batch, KHead: k.head, KRow: k.row, KStep: k.step,
		V: v.place(), VType: v.cpuType(), VBatch: v.batch, VHead: v.head, VRow: v.row, VStep: v.step,
	}
}

// selfAttention reads the queries, the keys and the values as views of one input.
func (l *lowering) selfAttention() error {
	h, all := l.layout.Heads, l.in(0)
	queries, keys := int64(h.QueryHeads*h.Size), int64(h.KeyHeads*h.Size)
	q := inHeads(all.narrow(2, 0, queries), h.Size)
	k := inHeads(all.narrow(2, queries, keys), h.Size)
	v := inHeads(all.narrow(2, queries+keys, keys), h.Size)
	r := l.attend(q, k, v)
	y := inHeads(l.out(0), h.Size)
	r.Y, r.YType, r.YBatch, r.YHead, r.YRow, r.YStep = y.place(), y.cpuType(), y.batch, y.head, y.row, y.step
	l.setMask(r, l.in(1))
	l.setSight(r)
	l.add(r)
	return nil
}

// pagedAttention reads the keys and values in the blocks of a cache. The distance of blocks takes the place of that
// of sequences.
func (l *lowering) pagedAttention() error {
	k, v := l.in(1), l.in(2)
	tables, err := l.contiguous(l.in(3))
	if err != nil {
		return err
	}
	valid, err := l.contiguous(l.in(4))
	if err != nil {
		return err
	}
	h := l.layout.Heads
	r := l.attend(inHeads(l.in(0), h.Size), inHeads(k, h.Size), inHeads(v, h.ValueSize))
	y := inHeads(l.out(0), h.ValueSize)
	r.Y, r.YType, r.YBatch, r.YHead, r.YRow, r.YStep = y.place(), y.cpuType(), y.batch, y.head, y.row, y.step
	r.Softcap = l.op.Float("softcap")
	r.Tables, r.TableRow, r.PageTokens, r.Pages = tables.place(), tables.shape[1], k.shape[2], k.shape[0]
	r.Lengths, r.FollowsLength, r.HasLast = valid.place(), 1, 1
	if left := l.op.Int("left_window_size"); left >= 0 {
		r.HasFirst, r.First = 1, -left
	}
	l.add(r)
	return nil
}

// cache returns the past keys or values, followed by the new ones. If one operand must hold both, they
// are copied: to the output if it is wanted, otherwise into the workspace.
func (l *lowering) cache(in, past, present int, size uint64) (headed, error) {
	h := l.layout.Heads
	added := inHeads(l.in(in), size)
	before, to := l.in(past), l.out(present)
	if !to.isPresent() {
		if h.Past == 0 {
			return added, nil
		}
		made, err := l.temporary(added.kind, []int64{int64(h.Batch), int64(h.KeyHeads), int64(h.Keys), int64(size)})
		if err != nil {
			return headed{}, err
		}
		to = made
	}
	if h.Past > 0 {
		l.copy(before, to.narrow(2, 0, int64(h.Past)))
	}
	count := int64(h.Keys - h.Past)
	shape := []int64{int64(h.Batch), int64(h.KeyHeads), count, int64(size)}
	l.copy(added.view(shape, []int64{added.batch, added.head, added.row, added.step}), to.narrow(2, int64(h.Past), count))
	return inHeads(to, size), nil
}

func (l *lowering) scale() float64 {
	size := l.layout.Heads.Size
	switch {
	case size == 0:
		return 1
	case l.op.Has("scale"):
		return l.op.Float("scale")
	}
	return 1 / math.Sqrt(float64(size))
}

// setMask sets the mask, which broadcasts to the scores. Its last dimension does not: keys after
// its last one are hidden.
func (l *lowering) setMask(r *cpu.Attention, m operand) {
	if !m.isPresent() {
		return
	}
	last := len(m.shape) - 1
	r.Mask, r.MaskType, r.MaskKeys, r.MaskKey = m.place(), m.cpuType(), m.shape[last], m.strides[last]
	for i, stride := range []*int64{&r.MaskRow, &r.MaskHead, &r.MaskBatch} {
		if axis := last - 1 - i; axis >= 0 {
			*stride = m.stride(axis)
		}
	}
}

// setSight sets which keys a query sees: those of its window, and none after it if the attention is
// causal. Queries follow the past.
func (l *lowering) setSight(r *cpu.Attention) {
	left, right := int64(-1), int64(-1)
	if l.op.Since >= 25 { // opset 1 of the domain Ferrum has no window
		left, right = l.op.Int("left_window_size"), l.op.Int("right_window_size")
	}
	if l.op.Int("is_causal") == 1 {
		right = 0
	}
	past := int64(l.layout.Heads.Past)
	if right >= 0 {
		r.HasLast, r.Last = 1, past+right
	}
	if left >= 0 {
		r.HasFirst, r.First = 1, past-left
	}
}
