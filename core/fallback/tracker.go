package fallback

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

// AllocationTracker knows live buffers. All methods are safe for concurrent use;
// the totals are read without a lock.
type AllocationTracker struct {
	mu    sync.RWMutex
	known map[BufferID]BufferMetadata

	// Both are written with mu held.
	total, peak atomic.Uint64
}

// NewAllocationTracker makes one that knows nothing.
func NewAllocationTracker() *AllocationTracker {
	return &AllocationTracker{known: map[BufferID]BufferMetadata{}}
}

// Track adds a buffer. One whose id is known already replaces that. Errors, after
// which nothing has changed: CodeInvalidArgument for id 0, CodeOverflow when the
// sum of all sizes would not fit 64 bits.
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
			"size_bytes %d of %v: with the %d bytes of all others it does not fit 64 bits", m.SizeBytes, m.ID, others)
	}
	t.known[m.ID] = m
	// In this order nobody who reads without the lock sees a total above the peak.
	t.peak.Store(max(t.peak.Load(), total))
	t.total.Store(total)
	return nil
}

// Untrack removes a buffer and gives its record; false: it is not known.
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

// SetLocation says where a buffer is now; false: it is not known.
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

// Get is the record of a buffer; false: it is not known.
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
	slices.SortFunc(all, func(a, b BufferMetadata) int {
		return cmp.Or(cmp.Compare(a.AllocatedAt, b.AllocatedAt), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// FindOldAllocations lists the buffers that are strictly older than age, the oldest
// first: what may have been forgotten.
func (t *AllocationTracker) FindOldAllocations(age time.Duration) []BufferMetadata {
	return olderThan(t.AllAllocations(), track.Now(), age)
}

// olderThan is the head of a list that begins with the oldest.
func olderThan(all []BufferMetadata, now, age time.Duration) []BufferMetadata {
	young := slices.IndexFunc(all, func(m BufferMetadata) bool { return now-m.AllocatedAt <= age })
	if young < 0 {
		return all
	}
	return all[:young]
}

// Count is the number of buffers.
func (t *AllocationTracker) Count() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.known)
}

// TotalBytes is the sum of their sizes.
func (t *AllocationTracker) TotalBytes() uint64 { return t.total.Load() }

// PeakBytes is the highest value that TotalBytes has had.
func (t *AllocationTracker) PeakBytes() uint64 { return t.peak.Load() }

// Clear forgets all buffers. The peak stays.
func (t *AllocationTracker) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	// A new one: to empty a large one takes its time, in which others would wait.
	t.known = map[BufferID]BufferMetadata{}
	t.total.Store(0)
}
