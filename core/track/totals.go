package track

import "sync/atomic"

// The gauges by number.
const (
	requested = iota
	allocated
	active
	cached
	unusable
	reserved
	liveBlocks
	segments
	gaugeCount
)

// counter is a number with its peak, changed by many threads at once.
type counter struct {
	current atomic.Uint64
	peak    atomic.Uint64
}

func (c *counter) add(n uint64) {
	value := c.current.Add(n)
	for {
		peak := c.peak.Load()
		if value <= peak || c.peak.CompareAndSwap(peak, value) {
			return
		}
	}
}

func (c *counter) sub(n uint64) {
	c.current.Add(-n)
}

// Totals sums the books of several pools. The zero value is ready to use. All
// methods are safe for concurrent use.
type Totals struct {
	counters [gaugeCount]counter
}

// Used is what is neither free nor cached: active + unusable. The two are read
// one after the other.
func (t *Totals) Used() uint64 {
	return t.counters[active].current.Load() + t.counters[unusable].current.Load()
}

// WithPeaks replaces the peaks of a record, the sum over the pools of these
// totals, by the real ones.
func (t *Totals) WithPeaks(s Statistics) Statistics {
	for i, gauge := range s.gauges() {
		// A pool that is at work right now may be ahead in its own record.
		gauge.Peak = max(t.counters[i].peak.Load(), gauge.Current)
	}
	return s
}
