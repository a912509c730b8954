package pageset

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// The streams that use the pages of a space: the stream of the allocation, and the
// streams that were recorded for the range. A free waits for the work of all of them.
//
// Each page has the number of a set of streams. A set grows from another set by one
// stream, and pages with the same history share one set. So the cost of a page does not
// depend on the number of its streams. A set is removed when no page has it and no
// other set grew from it.

// onDefault is the set of pages that only the default stream uses. A range allocated on
// the default stream starts with it.
const onDefault = 0

// userSet is one set of streams.
type userSet struct {
	streams []device.Stream
	// base is the set from which this one grew by last; noSet: last is its first
	// stream.
	base int
	last device.Stream
	// grown has the sets that grew from this one.
	grown map[device.Stream]int
	pages uint64
}

const noSet = -1

// Users has the sets of a space, and the set of each page. The lock of its user guards
// it.
type Users struct {
	defaultStream device.Stream
	memory        offheap.Table[uint32]
	// of has the number of the set for each page.
	of    []uint32
	sets  []userSet
	spare []int
	// first has the sets of one stream, except that of the default stream.
	first map[device.Stream]int
	// shared counts the pages with sets other than onDefault.
	shared uint64
}

// Open makes the default stream the only user of that many pages.
func (u *Users) Open(pages uint64, defaultStream device.Stream) error {
	u.defaultStream = defaultStream
	u.sets = []userSet{{streams: []device.Stream{defaultStream}, base: noSet}}
	u.first = map[device.Stream]int{}
	err := u.memory.Grow(&u.of, int(pages))
	if err == nil {
		u.of = u.of[:pages]
	}
	return err
}

// Detach detaches the memory of the table. The caller frees it without a lock.
func (u *Users) Detach() (free func()) { return u.memory.Detach(&u.of) }

// Bytes returns the address space that the table reserves.
func (u *Users) Bytes() uint64 { return uint64(u.memory.Bytes()) }

// Begin makes a stream the only user of pages; nil: the default stream.
func (u *Users) Begin(r Run, stream device.Stream) {
	if stream == nil || stream == u.defaultStream {
		u.put(r, onDefault)
		return
	}
	u.put(r, u.with(noSet, stream))
}

// End removes all users of pages; the default stream remains.
func (u *Users) End(r Run) { u.put(r, onDefault) }

// Add adds a stream to the users of pages; nil: the default stream.
func (u *Users) Add(r Run, stream device.Stream) {
	if stream == nil {
		stream = u.defaultStream
	}
	u.eachSet(r, func(part Run, set int) {
		if !slices.Contains(u.sets[set].streams, stream) {
			u.put(part, u.with(set, stream))
		}
	})
}

// Drop removes streams from the users of pages.
func (u *Users) Drop(r Run, streams []device.Stream) {
	u.eachSet(r, func(part Run, set int) {
		to := noSet
		for _, stream := range u.sets[set].streams {
			switch {
			case slices.Contains(streams, stream):
			case to == noSet && stream == u.defaultStream:
				to = onDefault
			default:
				to = u.with(to, stream)
			}
		}
		u.put(part, max(to, onDefault))
	})
}

// Streams lists the streams that use at least one of the pages.
func (u *Users) Streams(r Run) (streams []device.Stream) {
	if u.shared == 0 {
		return []device.Stream{u.defaultStream}
	}
	seen := map[int]bool{}
	u.eachSet(r, func(_ Run, set int) {
		if seen[set] {
			return
		}
		seen[set] = true
		for _, stream := range u.sets[set].streams {
			if !slices.Contains(streams, stream) {
				streams = append(streams, stream)
			}
		}
	})
	return streams
}

// Most returns the largest number of streams of one of the pages.
func (u *Users) Most(r Run) (most int) {
	u.eachSet(r, func(_ Run, set int) { most = max(most, len(u.sets[set].streams)) })
	return most
}

// eachSet calls fn for each run of pages with one set. fn may change the set of its
// run.
func (u *Users) eachSet(r Run, fn func(part Run, set int)) {
	for at := r.Start; at < r.End(); {
		number, first := u.of[at], at
		for at++; at < r.End() && u.of[at] == number; at++ {
		}
		fn(Run{Start: first, Pages: at - first}, int(number))
	}
}

// with returns the set that has the streams of base (noSet: none) and one more stream.
func (u *Users) with(base int, stream device.Stream) int {
	grown := u.first
	if base != noSet {
		if u.sets[base].grown == nil {
			u.sets[base].grown = map[device.Stream]int{}
		}
		grown = u.sets[base].grown
	}
	if set, ok := grown[stream]; ok {
		return set
	}
	made := userSet{base: base, last: stream, streams: []device.Stream{stream}}
	if base != noSet {
		made.streams = append(slices.Clone(u.sets[base].streams), stream)
	}
	set := len(u.sets)
	if last := len(u.spare) - 1; last >= 0 {
		set = u.spare[last]
		u.spare = u.spare[:last]
		u.sets[set] = made
	} else {
		u.sets = append(u.sets, made)
	}
	grown[stream] = set
	return set
}

// put assigns a set to pages, and removes sets that are not used any more.
func (u *Users) put(r Run, set int) {
	if set == onDefault && u.shared == 0 {
		return
	}
	// Count first, so that a set of these pages is not removed.
	u.sets[set].pages += r.Pages
	if set != onDefault {
		u.shared += r.Pages
	}
	u.eachSet(r, func(part Run, was int) {
		if was != onDefault {
			u.shared -= part.Pages
			u.sets[was].pages -= part.Pages
		}
		if was != set {
			of := u.of[part.Start:part.End()]
			for i := range of {
				of[i] = uint32(set)
			}
		}
		u.forget(was)
	})
	u.forget(set)
}

// forget removes a set without pages, and the sets it grew from that are not needed
// without it.
func (u *Users) forget(set int) {
	for set != onDefault && set != noSet {
		s := u.sets[set]
		if s.last == nil || s.pages > 0 || len(s.grown) > 0 {
			return
		}
		if s.base == noSet {
			delete(u.first, s.last)
		} else {
			delete(u.sets[s.base].grown, s.last)
		}
		u.sets[set] = userSet{base: noSet}
		u.spare = append(u.spare, set)
		set = s.base
	}
}
