package fallback

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/track"
)

// AllocationTracker records live buffers. All methods are safe for concurrent use; the
// totals are read without a lock.
type AllocationTracker struct {
	mu    sync.RWMutex
	known map[BufferID]BufferMetadata

	// Both are written with mu held.
	total, peak atomic.Uint64
}

// NewAllocationTracker returns an empty tracker.
func NewAllocationTracker() *AllocationTracker {
	return &AllocationTracker{known: map[BufferID]BufferMetadata{}}
}

// Track adds a buffer, and replaces a record with the same id. Errors, after which
// nothing has changed: CodeInvalidArgument for id 0, CodeOverflow if the sum of all
// sizes would not fit in 64 bits.
func (t *AllocationTracker) Track(m BufferMetadata) error {
	const op = "fallback.track"
	if m.ID == 0 {
		return device.Errorf(device.CodeInvalidArgument, op, "buffer id is 0")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	others := t.total.Load() - t.known[m.ID].SizeBytes
	total := others + m.SizeBytes
	if total < others {
		return device.Errorf(device.CodeOverflow, op,
			"size_bytes %d of %v: with the %v of all others it does not fit 64 bits", m.SizeBytes, m.ID, device.Size(others))
	}
	t.known[m.ID] = m
	// In this order a reader without the lock never sees a total above the peak.
	t.peak.Store(max(t.peak.Load(), total))
	t.total.Store(total)
	return nil
}

// Untrack removes a buffer and returns its record; false: it is not tracked.
func (t *AllocationTracker) Untrack(id BufferID) (BufferMetadata, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.known[id]
	if ok {
		delete(t.known, id)
		t.total.Store(t.total.Load() - m.SizeBytes)
	}
	return m, ok
}

// SetLocation records where a buffer is now; false: it is not tracked.
func (t *AllocationTracker) SetLocation(id BufferID, where BufferLocation) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.known[id]
	if ok {
		m.Location = where
		t.known[id] = m
	}
	return ok
}

// Get returns the record of a buffer; false: it is not tracked.
func (t *AllocationTracker) Get(id BufferID) (BufferMetadata, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	m, ok := t.known[id]
	return m, ok
}

// AllAllocations lists the buffers, the oldest first.
func (t *AllocationTracker) AllAllocations() []BufferMetadata {
	t.mu.RLock()
	all := slices.Collect(maps.Values(t.known))
	t.mu.RUnlock()
	sorting.By(all, func(a, b BufferMetadata) int {
		return cmp.Or(cmp.Compare(a.AllocatedAt, b.AllocatedAt), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// FindOldAllocations lists the buffers that are strictly older than age, the oldest
// first. They may have been forgotten.
func (t *AllocationTracker) FindOldAllocations(age time.Duration) []BufferMetadata {
	return olderThan(t.AllAllocations(), track.Now(), age)
}

// olderThan returns the start of a list that is sorted with the oldest first.
func olderThan(all []BufferMetadata, now, age time.Duration) []BufferMetadata {
	young := slices.IndexFunc(all, func(m BufferMetadata) bool { return now-m.AllocatedAt <= age })
	if young < 0 {
		return all
	}
	return all[:young]
}

// Count returns the number of buffers.
func (t *AllocationTracker) Count() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.known)
}

// TotalBytes returns the sum of their sizes.
func (t *AllocationTracker) TotalBytes() uint64 { return t.total.Load() }

// PeakBytes returns the highest value of TotalBytes.
func (t *AllocationTracker) PeakBytes() uint64 { return t.peak.Load() }

// Clear removes all buffers. The peak stays.
func (t *AllocationTracker) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Replace the map, because clearing a large map would hold the lock for long.
	t.known = map[BufferID]BufferMetadata{}
	t.total.Store(0)
}
