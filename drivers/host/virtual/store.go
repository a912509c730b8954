package virtual

import (
	"cmp"
	"slices"
	"sort"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// The bits of a page's number: its place, its store, and how often that place was used
// before.
const (
	indexBits = 32
	storeBits = 8
)

// pageState is the state of a place for a page in a store.
type pageState uint8

const (
	pageFree pageState = iota
	pageThere
	// pageLeaving: a call releases or zeroes the page without a lock.
	pageLeaving
)

// storedPage is a page, or a place for one.
type storedPage struct {
	// address is the address of the mapped page, or 0.
	address    uint64
	generation uint32
	state      pageState
	// imported states that another process, or another page, counts the memory.
	imported bool
	// named is set while a list of pages is checked for duplicates.
	named bool
}

// store holds the pages of one size and backing. A movable page is the part of the store's
// file at its index. Adjacent pages of the file that are mapped one after the other are one
// mapping for the system, so places are allocated in runs, lowest first. Shareable pages
// have one file each. Memory.mu guards the store.
type store struct {
	number    uint64
	pageBytes uint64
	backing   device.Backing
	// fd is the file of movable pages. Shareable pages have a file each, in files by place.
	// -1 means none.
	fd    int
	files []int
	// limit is the maximum number of places.
	limit uint64
	pages []storedPage
	// free are the runs of places below len(pages) that have no page, in order. No two of
	// them are adjacent.
	free []span
}

// span is a run of places.
type span struct{ start, end uint64 }

// maxPlaces is the maximum that fits a page's number, which counts from 1.
const maxPlaces = 1<<indexBits - 1

// placesOf returns the number of places of a store for pages with a total of capacity
// bytes. It is twice the number of pages, so that free runs exist while others are in use.
func placesOf(capacity, pageBytes uint64) uint64 {
	places := min(capacity/pageBytes, maxPlaces/2)
	return max(2*places, 1)
}

func (s *store) part(index uint64) mapping.FilePart {
	if s.shareable() {
		return mapping.FilePart{FD: s.files[index]}
	}
	return mapping.FilePart{FD: s.fd, Offset: index * s.pageBytes}
}

func (s *store) shareable() bool { return s.backing == device.BackingShareable }

func (s *store) page(index uint64) device.Page {
	return device.Page(uint64(s.pages[index].generation)<<(storeBits+indexBits) | s.number<<indexBits | (index + 1))
}

// give creates pages in the lowest free run of places that is long enough, or behind the
// last place, or else in the lowest free places. false: there are not enough places.
func (s *store) give(pages []device.Page) bool {
	n := uint64(len(pages))
	if i := slices.IndexFunc(s.free, func(f span) bool { return f.end-f.start >= n }); i >= 0 {
		s.fill(pages, s.free[i].start)
		s.cut(i, n)
		return true
	}
	end, tail := uint64(len(s.pages)), uint64(0)
	if last := len(s.free) - 1; last >= 0 && s.free[last].end == end {
		tail = end - s.free[last].start
	}
	if n-tail <= s.limit-end {
		if tail > 0 {
			s.free = s.free[:len(s.free)-1]
		}
		s.pages = append(s.pages, make([]storedPage, n-tail)...)
		s.fill(pages, end-tail)
		return true
	}
	return s.gather(pages)
}

// gather uses the lowest free places, in several runs.
func (s *store) gather(pages []device.Page) bool {
	end, left := uint64(len(s.pages)), s.limit-uint64(len(s.pages))
	for _, f := range s.free {
		left += f.end - f.start
	}
	if uint64(len(pages)) > left {
		return false
	}
	for len(pages) > 0 && len(s.free) > 0 {
		n := min(uint64(len(pages)), s.free[0].end-s.free[0].start)
		s.fill(pages[:n], s.free[0].start)
		s.cut(0, n)
		pages = pages[n:]
	}
	s.pages = append(s.pages, make([]storedPage, len(pages))...)
	s.fill(pages, end)
	return true
}

func (s *store) cut(i int, n uint64) {
	if s.free[i].start += n; s.free[i].start == s.free[i].end {
		s.free = slices.Delete(s.free, i, i+1)
	}
}

func (s *store) fill(pages []device.Page, start uint64) {
	for i := range pages {
		index := start + uint64(i)
		s.pages[index].state = pageThere
		pages[i] = s.page(index)
	}
}

// freeRuns frees the places of runs that are not adjacent to each other.
func (s *store) freeRuns(runs []span) {
	for _, run := range runs {
		for index := run.start; index < run.end; index++ {
			p := &s.pages[index]
			*p = storedPage{generation: (p.generation + 1) & (1<<(64-storeBits-indexBits) - 1)}
		}
	}
	if len(runs) > 8 {
		s.free = coalesce(append(s.free, runs...))
		return
	}
	for _, run := range runs {
		i, _ := slices.BinarySearchFunc(s.free, run.start, func(f span, start uint64) int { return cmp.Compare(f.start, start) })
		joinsNext := i < len(s.free) && s.free[i].start == run.end
		joinsPrevious := i > 0 && s.free[i-1].end == run.start
		switch {
		case joinsNext && joinsPrevious:
			s.free[i-1].end = s.free[i].end
			s.free = slices.Delete(s.free, i, i+1)
		case joinsNext:
			s.free[i].start = run.start
		case joinsPrevious:
			s.free[i-1].end = run.end
		default:
			s.free = slices.Insert(s.free, i, run)
		}
	}
}

// coalesce sorts runs and joins adjacent ones.
func coalesce(runs []span) []span {
	sort.Slice(runs, func(i, j int) bool { return runs[i].start < runs[j].start })
	kept := runs[:0]
	for _, run := range runs {
		if n := len(kept); n > 0 && kept[n-1].end == run.start {
			kept[n-1].end = run.end
		} else {
			kept = append(kept, run)
		}
	}
	return kept
}
