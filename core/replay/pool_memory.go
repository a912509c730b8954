package replay

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

// The reasons of a Failure.
const (
	// ReasonTooLarge: the block alone is above the limit.
	ReasonTooLarge = "too_large"
	// ReasonLimit: with the block, the live memory would exceed the limit.
	ReasonLimit = "limit"
	// ReasonFragmentation: there is enough free memory, but not in one run.
	ReasonFragmentation = "fragmentation"
)

// span is a segment of the pool and the highest used offset in it.
type span struct {
	number uint64
	base   device.Addr
	size   uint64
	water  uint64
	// place is the start of the segment in the address map.
	place uint64
}

// PageBytes is the page size of a pool, and the unit of physical memory without a
// limit.
const PageBytes = 2 << 20

// poolMemory allocates blocks from a pool, times the calls and records the addresses.
type poolMemory struct {
	pool  *pool.Pool
	limit uint64 // 0: one range whose memory is never accessed
	// atOnce makes the pool release idle memory whenever the time advances, because the
	// steps of some traces are not in nanoseconds.
	atOnce bool
	live   uint64
	// spans is sorted by address, and valid until the pool changes its segments again.
	spans   []span
	changes uint64
	// water is the sum of the water of the spans, highWater its highest value.
	water, highWater uint64
	reserved         uint64
	// failure is the first error of settle.
	failure     error
	clock       clock
	pairs       histogram
	allocations uint64
	// recorder, if not nil, builds the address map.
	recorder *recorder
}

func newPoolMemory(limit uint64) *poolMemory {
	return &poolMemory{limit: limit, clock: newClock()}
}

func (m *poolMemory) alloc(w blockRequest) (block, *refusal, error) {
	start := m.clock.now()
	got, err := m.pool.Alloc(pool.Request{SizeBytes: w.size, End: w.end, Group: w.group})
	took := m.clock.now() - start
	m.learn()
	// Without a limit the device is too small, not the pool.
	endless := m.limit == 0 && m.pool.PhysicalPageBytes() != 0
	if errors.Is(err, device.CodeOutOfMemory) && !endless {
		return block{}, &refusal{reason: m.reason(w.size)}, nil
	}
	if err != nil {
		return block{}, nil, err
	}
	m.allocations++
	m.live += w.size
	at := m.find(got.Addr)
	if at < 0 {
		return block{}, nil, device.Errorf(device.CodeInternal, op, "block at %#x is in no segment of the pool", uint64(got.Addr))
	}
	s := &m.spans[at]
	if end := uint64(got.Addr-s.base) + got.SizeBytes; end > s.water {
		m.water += end - s.water
		s.water = end
		m.highWater = max(m.highWater, m.water)
	}
	if m.recorder != nil {
		m.recorder.allocated(got.Addr, s.place+uint64(got.Addr-s.base), got.SizeBytes, w.request)
	}
	return block{addr: got.Addr, size: w.size, tookNS: took}, nil, nil
}

func (m *poolMemory) free(b block) error {
	start := m.clock.now()
	err := m.pool.Free(b.addr, nil)
	took := m.clock.now() - start
	m.live -= b.size
	if m.recorder != nil {
		m.recorder.freed(b.addr)
	}
	m.pairs.add(b.tookNS + took - 2*m.clock.overheadNS)
	return err
}

func (m *poolMemory) reason(size uint64) string {
	most := m.limit
	if most == 0 {
		most = m.reserved
	}
	switch {
	case size > most:
		return ReasonTooLarge
	case size > most-min(m.live, most):
		return ReasonLimit
	}
	return ReasonFragmentation
}

func (m *poolMemory) find(addr device.Addr) int {
	at, exact := slices.BinarySearchFunc(m.spans, addr, func(s span, addr device.Addr) int {
		switch {
		case s.base < addr:
			return -1
		case s.base > addr:
			return 1
		}
		return 0
	})
	if !exact {
		at--
	}
	if at < 0 || uint64(addr-m.spans[at].base) >= m.spans[at].size {
		return -1
	}
	return at
}

// learn reads the pool's segments if they have changed. It keeps the data of segments
// that still exist.
func (m *poolMemory) learn() {
	changes := m.pool.SegmentChanges()
	if changes == m.changes {
		return
	}
	m.changes = changes
	known := make(map[uint64]span, len(m.spans))
	for _, s := range m.spans {
		known[s.number] = s
	}
	m.spans, m.water, m.reserved = nil, 0, 0
	for _, segment := range m.pool.Snapshot().Segments {
		s, ok := known[segment.Number]
		if !ok {
			s = span{number: segment.Number, base: segment.Address, place: unplaced}
		}
		s.size = segment.SizeBytes
		m.spans = append(m.spans, s)
		m.water += s.water
		m.reserved += s.size
	}
	placeSpans(m.spans)
}

// unplaced is the position of a segment that has none yet.
const unplaced = math.MaxUint64

// placeSpans assigns to each new segment the lowest free position in the map.
func placeSpans(spans []span) {
	placed := make([]span, 0, len(spans))
	for _, s := range spans {
		if s.place != unplaced {
			placed = append(placed, s)
		}
	}
	byPlace := func(a, b span) int { return cmp.Compare(a.place, b.place) }
	for i := range spans {
		if spans[i].place != unplaced {
			continue
		}
		slices.SortFunc(placed, byPlace)
		place := uint64(0)
		for _, other := range placed {
			if other.place >= place+spans[i].size {
				break
			}
			place = max(place, other.place+other.size)
		}
		spans[i].place = place
		placed = append(placed, spans[i])
	}
}

// reservedBytes returns the reserved bytes; the documentation of the package defines
// them.
func (m *poolMemory) reservedBytes() uint64 {
	if m.pool.PhysicalPageBytes() != 0 {
		return m.pool.HeldBytes()
	}
	if m.limit != 0 {
		return m.reserved
	}
	return (m.highWater + PageBytes - 1) / PageBytes * PageBytes
}

// settle lets the pool do the work that is due now. It returns the reserved bytes from
// now on, and the latest time until which they hold.
func (m *poolMemory) settle(now, until int64) (reserved uint64, next int64) {
	if m.atOnce {
		if _, err := m.pool.ReturnIdle(); m.failure == nil {
			m.failure = err
		}
		return m.reservedBytes(), until
	}
	due, again, err := m.pool.Tick()
	if m.failure == nil {
		m.failure = err
	}
	if again {
		until = min(until, max(int64(due), now+1))
	}
	return m.reservedBytes(), until
}

// describe fills in the values that only the memory knows.
func (m *poolMemory) describe(r *Result) {
	r.LimitBytes, r.PageBytes = m.limit, m.pool.PhysicalPageBytes()
	if m.recorder != nil {
		r.AddressMap = m.recorder.finish()
	}
	r.Allocations = m.allocations
	r.HighWaterBytes = m.highWater
	if r.PeakLiveBytes > 0 {
		r.Fragmentation = float64(m.highWater) / float64(r.PeakLiveBytes)
	}
	r.PairNSMedian, r.PairNSP99 = m.pairs.quantile(0.5), m.pairs.quantile(0.99)
	r.ClockNS = m.clock.overheadNS
}

// clock reads the monotonic clock, and knows the cost of a reading.
type clock struct {
	start      time.Time
	overheadNS int64
}

func newClock() clock {
	c := clock{start: time.Now()}
	const readings = 10_000
	var h histogram
	for range readings {
		start := c.now()
		h.add(c.now() - start)
	}
	c.overheadNS = h.quantile(0.5)
	return c
}

func (c clock) now() int64 { return int64(time.Since(c.start)) }
