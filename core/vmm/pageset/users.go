package pageset

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// Which streams use the pages of a space: the stream that a range was asked for on, and
// those that were recorded for it. A free is ordered behind the work of all of them.
//
// A page has the number of a set of streams. Sets grow from one another, a stream at a
// time, and pages of one history share one: what a page costs does not depend on how
// many streams use it. A set without pages, from which no other has grown, is forgotten.

// onDefault is the set of pages that the default stream alone uses, which is what a
// range has that was asked for on no other.
const onDefault = 0

// userSet is one set of streams.
type userSet struct {
	streams []device.Stream
	// base is the set that this one has grown from by last; none: by its first stream.
	base int
	last device.Stream
	// grown are those that have grown from this one.
	grown map[device.Stream]int
	pages uint64
}

const noSet = -1

// Users is the sets of a space and which pages have them. Its user's lock guards it.
type Users struct {
	defaultStream device.Stream
	memory        offheap.Table[uint32]
	// of has the number of its set for each page.
	of    []uint32
	sets  []userSet
	spare []int
	// first are the sets of one stream, but for the default one.
	first map[device.Stream]int
	// shared counts the pages of other sets than onDefault.
	shared uint64
}

// Open makes the default stream the only user of so many pages.
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

// Detach takes the memory of the table, for the caller to free without a lock.
func (u *Users) Detach() (free func()) { return u.memory.Detach(&u.of) }

// Bytes is the address space that the table has for itself.
func (u *Users) Bytes() uint64 { return uint64(u.memory.Bytes()) }

// Begin makes a stream the only user of pages; nil: the default stream.
func (u *Users) Begin(r Run, stream device.Stream) {
	if stream == nil || stream == u.defaultStream {
		u.put(r, onDefault)
		return
	}
	u.put(r, u.with(noSet, stream))
}

// End forgets who has used pages.
func (u *Users) End(r Run) { u.put(r, onDefault) }

// Add makes a stream a user of pages as well; nil: the default stream.
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

// Drop takes streams out of the users of pages.
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

// Streams lists the streams that use some of the pages.
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

// Most is the largest number of streams that one of the pages has.
func (u *Users) Most(r Run) (most int) {
	u.eachSet(r, func(_ Run, set int) { most = max(most, len(u.sets[set].streams)) })
	return most
}

// eachSet gives the runs of pages that have one set. fn may change that of its run.
func (u *Users) eachSet(r Run, fn func(part Run, set int)) {
	for at := r.Start; at < r.End(); {
		number, first := u.of[at], at
		for at++; at < r.End() && u.of[at] == number; at++ {
		}
		fn(Run{Start: first, Pages: at - first}, int(number))
	}
}

// with is the set that has a stream besides those of a set, or alone.
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

// put gives pages a set, and forgets sets that nobody has any more.
func (u *Users) put(r Run, set int) {
	if set == onDefault && u.shared == 0 {
		return
	}
	// Counted first, so that no set goes that these pages have.
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

// forget takes a set out of the list that has no pages, with those that it has grown
// from and that are only there for it.
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
