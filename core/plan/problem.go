package plan

import (
	"cmp"
	"slices"

	"ferrum_mem/core/device"
)

// The lifetimes are reduced to sections. A section is a set of buffers that live at the
// same time and to which no further buffer can be added: the buffers that live at one
// moment, taken at the moments just before a buffer ends that follows a begin. Buffers
// that live at the same time are together in at least one section, and each buffer is in
// a range of consecutive sections. So two buffers overlap in time exactly if their ranges
// of sections overlap, and there are at most as many sections as buffers.
//
// A moment without live buffers divides the buffers into parts, which are placed
// independently of each other.

// item is a buffer inside a part.
type item struct {
	size, align uint64
	// duration is the length of the lifetime.
	duration uint64
	// load is the largest sum of the sizes in one of the item's sections.
	load uint64
	// first and end are the item's sections: from first to just before end.
	first, end int32
	// index is the position of the buffer in the argument of Place.
	index int32
}

func (a *item) overlaps(b *item) bool { return a.first < b.end && b.first < a.end }

// part is a set of buffers that never live at the same time as buffers of other parts.
type part struct {
	items    []item
	sections int32
	// peak is the largest sum of sizes in a section. bound is a proven lower bound of the
	// height: peak, or more.
	peak, bound uint64
	// offsets is the best placement so far, by item, and height its highest end.
	offsets []uint64
	height  uint64
	// caution: the search tries to lower the height by 1/2^caution of the distance to its
	// goal.
	caution int
}

// firstCaution makes the first attempts easy. Successes are cheap, failures are not.
const firstCaution = 6

// problem is the argument of Place after all checks.
type problem struct {
	parts []part
	// unit divides every size and every alignment that matters, so offsets and heights are
	// multiples of it.
	unit uint64
}

// newProblem checks the buffers and divides them into parts.
func newProblem(buffers []Buffer) (*problem, error) {
	if len(buffers) > MaxBuffers {
		return nil, invalid(device.CodeInvalidArgument, "there are %d buffers: want at most %d", len(buffers), MaxBuffers)
	}
	granule := uint64(MaxAlignmentBytes)
	for i := range buffers {
		if err := buffers[i].check(); err != nil {
			return nil, device.AtIndex("buffers", i, err)
		}
		granule = min(granule, max(buffers[i].AlignmentBytes, 1))
	}
	begins, ends := make([]int32, len(buffers)), make([]int32, len(buffers))
	for i := range buffers {
		begins[i], ends[i] = int32(i), int32(i)
	}
	slices.SortStableFunc(begins, func(a, b int32) int { return cmp.Compare(buffers[a].Lower, buffers[b].Lower) })
	slices.SortStableFunc(ends, func(a, b int32) int { return cmp.Compare(buffers[a].Upper, buffers[b].Upper) })
	p := &problem{}
	items := make([]item, len(buffers))
	for k, i := range begins {
		b := &buffers[i]
		items[k] = item{
			size: up(b.SizeBytes, granule), align: max(b.AlignmentBytes, 1), duration: uint64(b.Upper) - uint64(b.Lower), index: i,
		}
		p.unit = gcd(items[k].size, p.unit)
		if items[k].align > granule {
			p.unit = gcd(items[k].align, p.unit)
		}
	}
	return p, p.divide(buffers, items, ends)
}

func (b *Buffer) check() error {
	switch {
	case b.Lower >= b.Upper:
		return invalid(device.CodeInvalidArgument, "lower is %d and upper is %d: a buffer must live from lower to a later upper", b.Lower, b.Upper)
	case b.SizeBytes == 0:
		return invalid(device.CodeInvalidSize, "the size is 0: a buffer must have at least 1 byte")
	case b.SizeBytes > MaxArenaBytes:
		return invalid(device.CodeInvalidSize, "the size is %v: the largest is %v", device.Size(b.SizeBytes), device.Size(uint64(MaxArenaBytes)))
	case b.AlignmentBytes&(b.AlignmentBytes-1) != 0:
		return invalid(device.CodeInvalidAlignment, "the alignment %d is not a power of two", b.AlignmentBytes)
	case b.AlignmentBytes > MaxAlignmentBytes:
		return invalid(device.CodeInvalidAlignment, "the alignment is %v: the largest is %v", device.Size(b.AlignmentBytes), device.Size(uint64(MaxAlignmentBytes)))
	}
	return nil
}

// divide walks through time: it numbers the sections, ends a part where nothing lives, and
// sums the live sizes. items are in order of their begin.
func (p *problem) divide(buffers []Buffer, items []item, ends []int32) error {
	place := make([]int32, len(items)) // the position in items of each buffer
	for k := range items {
		place[items[k].index] = int32(k)
	}
	var live, peak uint64
	var section int32
	begun := false // a buffer began after the last section
	ended, from := 0, 0
	end := func() {
		if begun {
			section++
			begun = false
		}
		it := &items[place[ends[ended]]]
		it.end = section
		live -= it.size
		ended++
	}
	closePart := func(to int) {
		p.parts = append(p.parts, part{items: items[from:to:to], sections: section, peak: peak, bound: peak, caution: firstCaution})
		from, section, peak = to, 0, 0
	}
	for k := range items {
		lower := buffers[items[k].index].Lower
		for ended < k && buffers[ends[ended]].Upper <= lower {
			end()
		}
		if ended == k && k > 0 {
			closePart(k)
		}
		items[k].first = section
		begun = true
		live += items[k].size
		if live > MaxArenaBytes {
			return invalid(device.CodeOverflow, "the buffers that live at time %d have more than %v together", lower, device.Size(uint64(MaxArenaBytes)))
		}
		peak = max(peak, live)
	}
	for ended < len(items) {
		end()
	}
	if len(items) > 0 {
		closePart(len(items))
	}
	return nil
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
