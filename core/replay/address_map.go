package replay

import (
	"cmp"
	"container/heap"
	"slices"

	"ferrum_mem/core/device"
)

// maxRectangles bounds an AddressMap, so that a page that shows it stays small.
const maxRectangles = 20_000

// AddressMap shows where blocks were in the pool's addresses, and when.
type AddressMap struct {
	// RangeBytes is the highest end of a block in the map. Several segments are placed
	// one behind the other. The position of a released segment is reused for a later
	// one.
	RangeBytes uint64
	// Rectangles has the blocks, in order of their start.
	Rectangles []Rectangle
	// LeftOut is the number of rectangles that are not in the list. ShownShare is the
	// share of all bytes × time that the list shows: 1 if nothing is left out.
	LeftOut    int
	ShownShare float64
}

// Rectangle is a block, or adjacent blocks that one request had at the same time.
type Rectangle struct {
	// From and To are times of the trace.
	From, To int64
	// OffsetBytes counts from the start of the map.
	OffsetBytes, SizeBytes uint64
	// Request is the index of the request in order of arrival, from 0.
	Request int
}

func (r Rectangle) area() float64 { return float64(r.SizeBytes) * float64(r.To-r.From) }

// recorder builds an AddressMap from the allocations and frees.
type recorder struct {
	now  func() int64
	live map[device.Addr]Rectangle
	// ended has the blocks that were freed at this moment. Several of them may form one
	// rectangle.
	ended []Rectangle
	// largest is a heap of the largest rectangles, with the smallest of them at its
	// root.
	largest        byArea
	leftOut        int
	shown, skipped float64
	rangeBytes     uint64
}

func newRecorder(now func() int64) *recorder {
	return &recorder{now: now, live: make(map[device.Addr]Rectangle)}
}

func (r *recorder) allocated(addr device.Addr, offset, size uint64, request int) {
	r.live[addr] = Rectangle{From: r.now(), OffsetBytes: offset, SizeBytes: size, Request: request}
	r.rangeBytes = max(r.rangeBytes, offset+size)
}

func (r *recorder) freed(addr device.Addr) {
	block := r.live[addr]
	delete(r.live, addr)
	block.To = r.now()
	if len(r.ended) > 0 && r.ended[0].To != block.To {
		r.keepEnded()
	}
	r.ended = append(r.ended, block)
}

// keepEnded joins adjacent blocks of one request that were freed at one moment.
func (r *recorder) keepEnded() {
	slices.SortFunc(r.ended, func(a, b Rectangle) int {
		return cmp.Or(cmp.Compare(a.Request, b.Request), cmp.Compare(a.From, b.From), cmp.Compare(a.OffsetBytes, b.OffsetBytes))
	})
	joined := r.ended[0]
	for _, next := range r.ended[1:] {
		if next.Request == joined.Request && next.From == joined.From && next.OffsetBytes == joined.OffsetBytes+joined.SizeBytes {
			joined.SizeBytes += next.SizeBytes
			continue
		}
		r.keep(joined)
		joined = next
	}
	r.keep(joined)
	r.ended = r.ended[:0]
}

func (r *recorder) keep(next Rectangle) {
	if next.From == next.To {
		return // it existed for no time
	}
	r.shown += next.area()
	heap.Push(&r.largest, next)
	if len(r.largest) <= maxRectangles {
		return
	}
	dropped := heap.Pop(&r.largest).(Rectangle)
	r.leftOut++
	r.shown -= dropped.area()
	r.skipped += dropped.area()
}

// finish returns the map. Every block must be freed by then.
func (r *recorder) finish() *AddressMap {
	if len(r.ended) > 0 {
		r.keepEnded()
	}
	m := &AddressMap{RangeBytes: r.rangeBytes, Rectangles: r.largest, LeftOut: r.leftOut, ShownShare: 1}
	if r.leftOut > 0 {
		m.ShownShare = r.shown / (r.shown + r.skipped)
	}
	slices.SortFunc(m.Rectangles, func(a, b Rectangle) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.OffsetBytes, b.OffsetBytes))
	})
	return m
}

// byArea is a heap with the smallest area first.
type byArea []Rectangle

func (h byArea) Len() int           { return len(h) }
func (h byArea) Less(i, j int) bool { return h[i].area() < h[j].area() }
func (h byArea) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byArea) Push(x any)        { *h = append(*h, x.(Rectangle)) }
func (h *byArea) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
