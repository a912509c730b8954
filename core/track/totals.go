package track

import (
	"sync"
	"sync/atomic"
)

// Totals has the sums of the counters of several pools. The zero value is ready to use.
// All methods are safe for concurrent use.
//
// A pool updates the totals when its counters are read, when a segment is added or
// removed, and, if there are several pools, whenever its active bytes have changed by
// windowBytes. So the peaks are exact for one pool. For several pools, the peak of the
// active bytes has an error of at most driftBytes for each further pool. The error of the
// other peaks is at most the change of the pools since their last update.
type Totals struct {
	// interest counts the pools in its low half and the watchers in its high half. They
	// are in one word, because every call of a pool checks whether there is anything
	// besides itself.
	interest atomic.Uint64
	used     atomic.Uint64

	mu            sync.Mutex
	current, peak [gaugeCount]uint64
}

// Watch(true) makes Used include every change of a pool, after that pool was read once.
// Watch(false) ends one Watch(true).
func (t *Totals) Watch(on bool) {
	if on {
		t.interest.Add(watcher)
	} else {
		t.interest.Add(^(watcher - 1))
	}
}

// watcher is the value of one watcher in interest.
const watcher uint64 = 1 << 32

// Watched reports whether there is a watcher.
func (t *Totals) Watched() bool { return t.interest.Load() >= watcher }

// shared reports whether more than one pool adds to the totals.
func (t *Totals) shared() bool { return uint32(t.interest.Load()) > 1 }

// Used returns what is neither free nor cached: active + unusable, as far as the pools
// have published it.
func (t *Totals) Used() uint64 { return t.used.Load() }

// WithPeaks replaces the peaks of a record by the exact ones. The record is the sum over
// the pools of these totals.
func (t *Totals) WithPeaks(s Statistics) Statistics {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, gauge := range s.gauges() {
		// A pool in use may be ahead of the totals.
		gauge.Peak = max(t.peak[i], gauge.Current)
	}
	return s
}
