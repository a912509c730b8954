package operations

import (
	"ferrum_mem/engines/cpu"
)

// headed is an operand with the dimensions batch, head, token and element.
type headed struct {
	operand
	batch, head, row, step int64
}

// inHeads returns an operand in heads of some size. One with three dimensions has the heads of a token
// next to each other.
func inHeads(o operand, size uint64) headed {
	s := o.strides
	if len(o.shape) == 3 {
		return headed{o, s[0], s[2] * int64(size), s[1], s[2]}
	}
	return headed{o, s[0], s[1], s[2], s[3]}
}

// isAdjacent states whether the elements of a row are adjacent.
func (h headed) isAdjacent(size uint64) bool { return h.step == 1 || size <= 1 }

func (l *lowering) rotary() error {
	h := l.layout.Heads
	x, y, then := inHeads(l.in(0), h.Size), inHeads(l.out(0), h.Size), func() {}
	if !x.isAdjacent(h.Size) {
		made, err := l.contiguous(x.operand)
		if err != nil {
			return err
		}
		x = inHeads(made, h.Size)
	}
	if !y.isAdjacent(h.Size) {
		made, after, err := l.result(y.operand)
		if err != nil {
			return err
		}
		y, then = inHeads(made, h.Size), after
	}
	cosines, err := l.contiguous(l.in(1))
	if err != nil {
		return err
	}
	sines, err := l.contiguous(l.in(2))
	if err != nil {
		return err
	}
	positions, err := l.contiguous(l.in(3))
	if err != nil {
		return err
	}
	half := int64(h.Rotated / 2)
	r := &cpu.Rotary{
		Batch: int64(h.Batch), Heads: int64(h.QueryHeads), Rows: int64(h.Queries), Depth: int64(h.Size), Rotated: int64(h.Rotated),
		IsInterleaved: l.op.Int("interleaved"), X: x.place(), XType: x.cpuType(), XBatch: x.batch, XHead: x.head, XRow: x.row,
		Y: y.place(), YType: y.cpuType(), YBatch: y.batch, YHead: y.head, YRow: y.row,
		Cosines: cosines.place(), Sines: sines.place(), AngleType: cosines.cpuType(), AngleBatch: int64(h.Queries) * half, AngleRow: half,
	}
	if positions.isPresent() {
		r.Positions, r.Most = positions.place(), cosines.shape[0]
	}
	l.add(r)
	l.mayShare(0, 0)
	then()
	return nil
}
