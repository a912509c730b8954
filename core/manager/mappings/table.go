package mappings

import (
	"math"
	"slices"

	"ferrum_mem/core/device"
)

// Range is the mapped part of a block, and its use.
type Range struct {
	OffsetBytes, SizeBytes uint64
	Reads, Writes          bool
}

// clashes reports whether two ranges overlap and both are written.
func (r Range) clashes(other Range) bool {
	return r.Writes && other.Writes && r.OffsetBytes < other.OffsetBytes+other.SizeBytes &&
		other.OffsetBytes < r.OffsetBytes+r.SizeBytes
}

// Copy is the staging copy of a range. Its memory does not move until Free.
type Copy struct {
	Addr device.HostAddr
	Free func()
}

// Mapping is one mapping of a block.
type Mapping struct {
	// ID names it within its block; it is never 0.
	ID    uint64
	Range Range
	// Settled is closed when the creation has ended; Failure is then its result.
	Settled chan struct{}
	Failure error
	Addr    device.HostAddr
	// Copy is nil if the block itself is mapped.
	Copy *Copy

	// count is the number of uses that have not ended.
	count uint32
	state state
}

type state int

const (
	making state = iota
	ready
	// ending: the mapping is being written back.
	ending
)

// Table has the mappings of one block. The zero value has none.
type Table struct {
	// list is in order of creation; made numbers the mappings.
	list []*Mapping
	made uint64
}

// Len returns the number of mappings that have not ended.
func (t *Table) Len() int { return len(t.list) }

// Join returns the mapping of the same range with one more use, or adds one that the
// caller has to create. It returns a Refusal instead for a mapping with the largest
// possible number of uses (CodeResourceExhausted) and for one that clashes with another
// (CodeBusy).
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

// Refusal is the reason why a range cannot be mapped now.
type Refusal struct {
	Code device.Code
	// Mapping is the mapping that prevents it, and Uses its number of uses, if that is
	// the reason.
	Mapping *Mapping
	Uses    uint32
}

// Settle records the result of a creation: the mapping has an address and possibly a
// copy. With a failure the mapping has ended.
func (t *Table) Settle(m *Mapping, addr device.HostAddr, copied *Copy, failure error) {
	if failure != nil {
		m.Failure = failure
		t.drop(m)
	} else {
		m.Addr, m.Copy, m.state = addr, copied, ready
	}
	close(m.Settled)
}

// Release ends one use of a mapping that is ready; 0 means the last one. found reports
// whether there is such a mapping. ended is not nil if that was its last use and
// nothing has to be written back. writeBack is not nil if its copy has to be written
// back; then it has not ended yet.
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

// Resume restores a mapping that could not be written back to its state before its last
// use ended.
func (t *Table) Resume(m *Mapping) { m.state = ready }

// End ends a mapping whose bytes are in the block, and frees its copy.
func (t *Table) End(m *Mapping) {
	t.drop(m)
	if m.Copy != nil {
		m.Copy.Free()
	}
}

func (t *Table) drop(m *Mapping) {
	t.list = slices.DeleteFunc(t.list, func(other *Mapping) bool { return other == m })
}

// Forget ends all mappings of a block that is freed by force. Bytes that were not
// written back are lost. The thread that creates or writes back a mapping frees its
// copy itself.
func (t *Table) Forget() {
	for _, m := range t.list {
		if m.state == ready && m.Copy != nil {
			m.Copy.Free()
		}
	}
	t.list = nil
}
