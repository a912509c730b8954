package vmm

import (
	"math"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/pageset"
)

// PageState is the state of a page of a space.
type PageState int

const (
	// PageLive belongs to an allocation.
	PageLive PageState = iota
	// PageRetiring was freed; queued work may still use it.
	PageRetiring
	// PageParked was freed and is still mapped.
	PageParked
	// PageFree has no physical page, or is being mapped or unmapped now.
	PageFree
	// PageAsleep belongs to an allocation that is asleep.
	PageAsleep
)

// Range is a part of a space: adjacent pages of one allocation that are all live or all
// asleep, or one page without an allocation.
type Range struct {
	State PageState
	// Model is the id of the model, or "".
	Model string
	Addr  device.Addr
	// OffsetBytes counts from the base address. SizeBytes is in whole pages.
	OffsetBytes, SizeBytes uint64
	// RequestedBytes is the requested size; 0 if the range is neither live nor asleep.
	RequestedBytes uint64
	// Tag is the tag of the allocation; "" if the range is neither live nor asleep.
	Tag string
	// AllocatedAt is the time of the allocation, on the clock of track.Now; 0 if the
	// range is neither live nor asleep.
	AllocatedAt time.Duration
}

// RangeAt returns the range of an address; false: the address lies outside the pool.
func (p *Pool) RangeAt(addr device.Addr) (Range, bool) { return p.space.rangeAt(addr) }

// EachRange calls fn for every range that is live or asleep, in order of addresses,
// until fn returns false. It may miss ranges that are allocated or freed during the
// call, or report parts of them.
func (p *Pool) EachRange(fn func(Range) bool) { p.space.eachRange(fn) }

// RangeAt returns the range of an address; false: the address lies outside the models.
func (s *Elastic) RangeAt(addr device.Addr) (Range, bool) {
	for _, m := range s.placed() {
		if found, ok := m.space.rangeAt(addr); ok {
			found.Model = m.id
			return found, true
		}
	}
	return Range{}, false
}

// EachRange is Pool.EachRange for all models, in order of registration.
func (s *Elastic) EachRange(fn func(Range) bool) {
	goOn := true
	for _, m := range s.placed() {
		m.space.eachRange(func(found Range) bool {
			found.Model = m.id
			goOn = fn(found)
			return goOn
		})
		if !goOn {
			return
		}
	}
}

// placed lists the models that have their space.
func (s *Elastic) placed() []*Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	var models []*Model
	for m := range s.ordered.All() {
		if m.space != nil {
			models = append(models, m)
		}
	}
	return models
}

// rangeAt looks back from the address over at most one allocation.
func (s *space) rangeAt(addr device.Addr) (Range, bool) {
	if addr < s.table.extent.Base || uint64(addr-s.table.extent.Base) >= s.table.extent.Bytes() {
		return Range{}, false
	}
	page := uint64(addr-s.table.extent.Base) / s.table.extent.PageBytes
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table.state == stateClosed {
		return Range{}, false
	}
	if s.table.live.Has(page) || s.table.asleep.Has(page) {
		first := page
		for first > 0 && s.table.partOf(first-1, first) {
			first--
		}
		return s.table.takenRange(first), true
	}
	found := s.table.rangeOf(pageset.Run{Start: page, Pages: 1}, PageFree)
	switch {
	case s.table.parked.Has(page):
		found.State = PageParked
	case s.retirees.fenceOver(pageset.Run{Start: page, Pages: 1}) != nil:
		found.State = PageRetiring
	}
	return found, true
}

func (t *pageTable) rangeOf(r pageset.Run, state PageState) Range {
	return Range{
		State: state, Addr: t.extent.Addr(r.Start), OffsetBytes: r.Start * t.extent.PageBytes, SizeBytes: r.Pages * t.extent.PageBytes,
	}
}

// partOf reports whether two allocated pages belong to one allocation and both are live
// or both asleep. The caller holds mu.
func (t *pageTable) partOf(page, other uint64) bool {
	return t.allocated[page] == t.allocated[other] && t.asleep.Has(page) == t.asleep.Has(other)
}

// takenRange returns the rest of a range that is live or asleep, from the given page
// on. The caller holds mu.
func (t *pageTable) takenRange(first uint64) Range {
	number, end := t.allocated[first], first+1
	for end < t.extent.Pages && t.partOf(end, first) {
		end++
	}
	a := &t.records.all[number-1]
	found := t.rangeOf(pageset.Run{Start: first, Pages: end - first}, PageLive)
	if t.asleep.Has(first) {
		found.State = PageAsleep
	}
	found.RequestedBytes = a.share(first*t.extent.PageBytes, end*t.extent.PageBytes)
	found.Tag, found.AllocatedAt = t.tags.Name(a.tag), a.at
	return found
}

func (s *space) eachRange(fn func(Range) bool) {
	for page, ok := uint64(0), true; ok; {
		var found Range
		if found, page, ok = s.nextRange(page); ok && !fn(found) {
			return
		}
	}
}

// nextRange returns the first range that is live or asleep at or after a page, and the
// page behind the range.
func (s *space) nextRange(page uint64) (found Range, next uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table.state == stateClosed || page >= s.table.extent.Pages {
		return Range{}, math.MaxUint64, false
	}
	first, live := s.table.live.Next(page)
	if asleep, sleeps := s.table.asleep.Next(page); sleeps && (!live || asleep < first) {
		first, live = asleep, true
	}
	if !live {
		return Range{}, math.MaxUint64, false
	}
	found = s.table.takenRange(first)
	return found, first + found.SizeBytes/s.table.extent.PageBytes, true
}
