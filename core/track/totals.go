package track

import (
	"sync"
	"sync/atomic"
)

// Totals sums the books of several pools. The zero value is ready to use. All
// methods are safe for concurrent use.
//
// Books bring the totals up to date when they are read, when a segment comes or
// goes, and, where there are several, whenever their active bytes have moved by
// windowBytes. So the peaks of the sum are exact for one pool; for more the peak
// of the active bytes is off by no more than driftBytes for each further pool,
// and the other peaks by what the pools had changed since they were last brought
// up to date.
type Totals struct {
	// interest counts the books, and in the high half those who need used at every
	// moment: in one word, for the books ask at every call whether there is
	// anybody but them.
	interest atomic.Uint64
	used     atomic.Uint64

	mu            sync.Mutex
	current, peak [gaugeCount]uint64
}

// Watch has every change of the books show in Used from now on, once each of
// them was read; the second result of as many calls with false ends that.
func (t *Totals) Watch(on bool) {
	if on {
		t.interest.Add(watcher)
	} else {
		t.interest.Add(^(watcher - 1))
	}
}

// watcher is what one of them counts in interest.
const watcher uint64 = 1 << 32

// Watched says whether somebody watches.
func (t *Totals) Watched() bool { return t.interest.Load() >= watcher }

// shared says whether there is more than one of the books.
func (t *Totals) shared() bool { return uint32(t.interest.Load()) > 1 }

// Used is what is neither free nor cached: active + unusable, as far as the
// books have made it known.
func (t *Totals) Used() uint64 { return t.used.Load() }

// WithPeaks replaces the peaks of a record, the sum over the pools of these
// totals, by the real ones.
func (t *Totals) WithPeaks(s Statistics) Statistics {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, gauge := range s.gauges() {
		// A pool that is at work right now may be ahead in its own record.
		gauge.Peak = max(t.peak[i], gauge.Current)
	}
	return s
}
