package mappings

import (
	"math"
	"slices"

	"ferrum_mem/core/device"
)

// Range is what is mapped of a block, and how it is used.
type Range struct {
	OffsetBytes, SizeBytes uint64
	Reads, Writes          bool
}

// clashes says that two ranges overlap and that both are written.
func (r Range) clashes(other Range) bool {
	return r.Writes && other.Writes && r.OffsetBytes < other.OffsetBytes+other.SizeBytes &&
		other.OffsetBytes < r.OffsetBytes+r.SizeBytes
}

// Copy is host memory that stands for a range. What it holds stays where it is until Free.
type Copy struct {
	Addr device.HostAddr
	Free func()
}

// Mapping is one mapping of a block.
type Mapping struct {
	// ID names it among those of its block; it is never 0.
	ID    uint64
	Range Range
	// Settled is closed when making has ended; Failure, then, is how.
	Settled chan struct{}
	Failure error
	Addr    device.HostAddr
	// Copy is nil where the block itself is mapped.
	Copy *Copy

	// count is the uses that have not ended.
	count uint32
	state state
}

type state int

const (
	making state = iota
	ready
	// ending is being written back.
	ending
)

// Table has the mappings of one block. The zero value has none.
type Table struct {
	// list is by the time they were made; made numbers them.
	list []*Mapping
	made uint64
}

// Len counts the mappings that have not ended.
func (t *Table) Len() int { return len(t.list) }

// Join gives the mapping of just this range, used once more, or enters one that the
// caller is to make. For one that is used as often as can be counted, and for one that
// clashes, it gives none, and the reason: CodeResourceExhausted with the number of uses,
// CodeBusy with the mapping that is in the way.
func (t *Table) Join(r Range) (m *Mapping, made bool, refused *Refusal) {
	for _, m := range t.list {
		if m.Range == r && m.state != ending && m.Failure == nil {
			if m.count == math.MaxUint32 {
				return nil, false, &Refusal{Code: device.CodeResourceExhausted, Uses: m.count, Mapping: m}
			}
			m.count++
			return m, false, nil
		}
		if r.clashes(m.Range) {
			return nil, false, &Refusal{Code: device.CodeBusy, Mapping: m}
		}
	}
	t.made++
	m = &Mapping{ID: t.made, Range: r, count: 1, Settled: make(chan struct{})}
	t.list = append(t.list, m)
	return m, true, nil
}

// Refusal is why a range cannot be mapped now.
type Refusal struct {
	Code device.Code
	// Mapping is the one that is in the way, and Uses how often it is used, where that
	// is the reason.
	Mapping *Mapping
	Uses    uint32
}

// Settle says that a mapping has been made, at an address and perhaps with a copy, or that
// it could not be: then it has ended.
func (t *Table) Settle(m *Mapping, addr device.HostAddr, copied *Copy, failure error) {
	if failure != nil {
		m.Failure = failure
		t.drop(m)
	} else {
		m.Addr, m.Copy, m.state = addr, copied, ready
	}
	close(m.Settled)
}

// Release ends one use of a mapping that is ready; 0 is the one made last. found says that
// there is such a one. ended is not nil when that was its last use and nothing is to be
// written back; writeBack, when its copy is: it has not ended then.
func (t *Table) Release(id uint64) (ended, writeBack *Mapping, found bool) {
	for _, m := range slices.Backward(t.list) {
		switch {
		case m.state != ready || id != 0 && m.ID != id:
			continue
		case m.count > 1:
			m.count--
			return nil, nil, true
		case m.Copy != nil && m.Range.Writes:
			m.state = ending
			return nil, m, true
		}
		t.End(m)
		return m, nil, true
	}
	return nil, nil, false
}

// Resume makes a mapping that could not be written back what it was before its last use
// was left.
func (t *Table) Resume(m *Mapping) { m.state = ready }

// End ends a mapping whose bytes are where they belong, and frees its copy.
func (t *Table) End(m *Mapping) {
	t.drop(m)
	if m.Copy != nil {
		m.Copy.Free()
	}
}

func (t *Table) drop(m *Mapping) {
	t.list = slices.DeleteFunc(t.list, func(other *Mapping) bool { return other == m })
}

// Forget ends all mappings of a block that dies by force: what was not written back is
// lost. The copy of one that is being made or written back belongs to who does that.
func (t *Table) Forget() {
	for _, m := range t.list {
		if m.state == ready && m.Copy != nil {
			m.Copy.Free()
		}
	}
	t.list = nil
}
