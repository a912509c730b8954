package fallback

import (
	"errors"
	"math/bits"
	"sync"

	"ferrum_mem/core/device"
)

// MaxReuseRatio bounds the waste of reuse: a free buffer serves no request that is
// smaller than its size divided by this ratio.
const MaxReuseRatio = 4

// bucketCount is one bucket for each power of two.
const bucketCount = 64

// GenericMemoryPool keeps free buffers of any kind for reuse. The bucket of a buffer is
// the power of two at or above its size. A buffer serves no request that is larger than
// itself. The pool allocates nothing: if TryGet finds no buffer, the caller allocates
// one and calls RecordAllocation. All methods are safe for concurrent use.
type GenericMemoryPool[B any] struct {
	config  MemoryConfig
	release func(buffer B, bytes uint64) error
	tracker *AllocationTracker
	stats   counters

	mu      sync.Mutex
	buckets [bucketCount][]pooled[B]
	// bytes and count are the totals of the buckets.
	bytes uint64
	count int
}

type pooled[B any] struct {
	buffer B
	bytes  uint64
}

// Lease is a buffer that is in use.
type Lease[B any] struct {
	Buffer B
	// Bytes is its size, which may exceed the request.
	Bytes uint64
	// ID is 0 unless the pool tracks.
	ID BufferID
}

// Use describes the use of a buffer for the tracker.
type Use struct {
	NumElements uint64
	Location    BufferLocation
	Tag         string
}

// NewGenericMemoryPool creates an empty pool. release frees buffers that the pool does
// not keep, and is called with no lock held; nil: nothing has to be freed.
func NewGenericMemoryPool[B any](c MemoryConfig, release func(buffer B, bytes uint64) error) (*GenericMemoryPool[B], error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	p := &GenericMemoryPool[B]{config: c, release: release}
	if c.TrackAllocations {
		p.tracker = NewAllocationTracker()
	}
	return p, nil
}

// Config returns the settings.
func (p *GenericMemoryPool[B]) Config() MemoryConfig { return p.config }

// Tracker returns the records of the buffers in use; nil without tracking.
func (p *GenericMemoryPool[B]) Tracker() *AllocationTracker { return p.tracker }

// Stats returns the counters. It takes no lock.
func (p *GenericMemoryPool[B]) Stats() MemoryStats { return p.stats.read() }

// RecordAllocation counts a buffer that the caller has allocated and uses. The id is 0
// unless the pool tracks. Errors, after which nothing has changed: CodeInvalidSize for
// 0, CodeOverflow if the total would not fit in 64 bits.
func (p *GenericMemoryPool[B]) RecordAllocation(bytes uint64, u Use) (BufferID, error) {
	const op = "fallback.record_allocation"
	if bytes == 0 {
		return 0, device.Errorf(device.CodeInvalidSize, op, "bytes is 0")
	}
	if err := p.grow(op, bytes); err != nil {
		return 0, err
	}
	id, err := p.track(bytes, u)
	if err != nil {
		minus(&p.stats.total, bytes)
		return 0, err
	}
	p.stats.use(bytes)
	return id, nil
}

// grow adds to the total.
func (p *GenericMemoryPool[B]) grow(op string, bytes uint64) error {
	for {
		total := p.stats.total.Load()
		if total+bytes < total {
			return device.Errorf(device.CodeOverflow, op, "bytes %d: with the %d of all others it does not fit 64 bits",
				bytes, total)
		}
		if p.stats.total.CompareAndSwap(total, total+bytes) {
			return nil
		}
	}
}

func (p *GenericMemoryPool[B]) track(bytes uint64, u Use) (BufferID, error) {
	if p.tracker == nil {
		return 0, nil
	}
	m := NewBufferMetadata(NewBufferID(), Extent{bytes, u.NumElements}, u.Location).WithTag(u.Tag)
	return m.ID, p.tracker.Track(m)
}

// TryGet takes a free buffer of at least that many bytes: from the request's own
// bucket, or from a larger one up to MaxReuseRatio times the request. It takes the
// smallest that fits. False: there is none, and the caller allocates one. Errors:
// CodeInvalidSize for 0, CodeOverflow for a size without a power of two above it.
func (p *GenericMemoryPool[B]) TryGet(minBytes uint64, u Use) (Lease[B], bool, error) {
	const op = "fallback.try_get"
	if minBytes == 0 {
		return Lease[B]{}, false, device.Errorf(device.CodeInvalidSize, op, "min_bytes is 0")
	}
	first, err := bucketOf(minBytes)
	if err != nil {
		return Lease[B]{}, false, err
	}
	got, ok := p.take(first, minBytes)
	if !ok {
		p.stats.misses.Add(1)
		return Lease[B]{}, false, nil
	}
	id, err := p.track(got.bytes, u)
	if err != nil {
		if !p.file(got) {
			err = errors.Join(err, p.drop([]pooled[B]{got}))
		}
		return Lease[B]{}, false, err
	}
	p.stats.hits.Add(1)
	p.stats.use(got.bytes)
	minus(&p.stats.pooled, got.bytes)
	return Lease[B]{Buffer: got.buffer, Bytes: got.bytes, ID: id}, true, nil
}

// take removes the smallest free buffer that serves a request.
func (p *GenericMemoryPool[B]) take(first int, minBytes uint64) (pooled[B], bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	bucket, i := p.find(first, minBytes)
	if i < 0 {
		return pooled[B]{}, false
	}
	return p.remove(bucket, i), true
}

// has reports whether TryGet would find a buffer.
func (p *GenericMemoryPool[B]) has(minBytes uint64) bool {
	first, err := bucketOf(minBytes)
	if err != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, i := p.find(first, minBytes)
	return i >= 0
}

// find returns the position of the smallest free buffer that serves a request, in the
// request's own bucket or above; below 0: there is none. The caller holds mu.
func (p *GenericMemoryPool[B]) find(first int, minBytes uint64) (bucket, i int) {
	if p.count == 0 {
		return 0, -1
	}
	for bucket := first; bucket < bucketCount; bucket++ {
		best := -1
		for i, free := range p.buckets[bucket] {
			if free.bytes >= minBytes && (free.bytes-1)/MaxReuseRatio < minBytes &&
				(best < 0 || free.bytes < p.buckets[bucket][best].bytes) {
				best = i
			}
		}
		if best >= 0 {
			return bucket, best
		}
	}
	return 0, -1
}

// remove removes a free buffer from its bucket. The caller holds mu.
func (p *GenericMemoryPool[B]) remove(bucket, i int) pooled[B] {
	free := p.buckets[bucket]
	got, last := free[i], len(free)-1
	free[i] = free[last]
	// Clear the unused slot, so that it does not keep the buffer alive.
	free[last] = pooled[B]{}
	p.buckets[bucket] = free[:last]
	p.bytes -= got.bytes
	p.count--
	return got
}

// ReturnBuffer ends the use of a buffer. l must have the size and id with which it was
// recorded or taken (id 0 in a pool that does not track). The buffer goes to its bucket
// (kept) or, if the bucket is full, is released. Errors, after which nothing has
// changed: CodeInvalidSize for 0 and for more than is in use, CodeInvalidArgument for
// an id that is not in use or has another size. An error of the release is returned;
// the pool does not have the buffer then.
func (p *GenericMemoryPool[B]) ReturnBuffer(l Lease[B]) (kept bool, err error) {
	if err := p.endUse(l.Bytes, l.ID); err != nil {
		return false, err
	}
	p.stats.pooled.Add(l.Bytes)
	returned := pooled[B]{l.Buffer, l.Bytes}
	if p.file(returned) {
		return true, nil
	}
	return false, p.drop([]pooled[B]{returned})
}

// Discard is ReturnBuffer for a buffer that the caller frees: the pool does not keep
// it.
func (p *GenericMemoryPool[B]) Discard(l Lease[B]) error {
	if err := p.endUse(l.Bytes, l.ID); err != nil {
		return err
	}
	minus(&p.stats.total, l.Bytes)
	return nil
}

func (p *GenericMemoryPool[B]) endUse(bytes uint64, id BufferID) error {
	const op = "fallback.return_buffer"
	if bytes == 0 {
		return device.Errorf(device.CodeInvalidSize, op, "bytes is 0")
	}
	if _, err := bucketOf(bytes); err != nil {
		return err
	}
	if p.tracker != nil {
		if err := p.tracker.end(op, id, bytes); err != nil {
			return err
		}
	}
	for {
		inUse := p.stats.inUse.Load()
		if bytes > inUse {
			return device.Errorf(device.CodeInvalidSize, op, "bytes %d: only %d are in use", bytes, inUse)
		}
		if p.stats.inUse.CompareAndSwap(inUse, inUse-bytes) {
			minus(&p.stats.active, 1)
			return nil
		}
	}
}

// end removes a buffer that must be tracked with that size.
func (t *AllocationTracker) end(op string, id BufferID, bytes uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.known[id]
	if !ok {
		return device.Errorf(device.CodeInvalidArgument, op, "%v is not in use", id)
	}
	if m.SizeBytes != bytes {
		return device.Errorf(device.CodeInvalidArgument, op, "bytes %d: %v has %d", bytes, id, m.SizeBytes)
	}
	delete(t.known, id)
	t.total.Store(t.total.Load() - bytes)
	return nil
}

// file adds a free buffer to its bucket; false: the bucket is full.
func (p *GenericMemoryPool[B]) file(free pooled[B]) bool {
	bucket, err := bucketOf(free.bytes)
	if err != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if uint64(len(p.buckets[bucket])) >= p.config.MaxPooledPerBucket ||
		p.config.MaxPooledBytes != 0 && capped(p.bytes, free.bytes) > p.config.MaxPooledBytes {
		return false
	}
	p.buckets[bucket] = append(p.buckets[bucket], free)
	p.bytes += free.bytes
	p.count++
	return true
}

// AddFree adds a buffer that was not used yet. It returns CodeResourceExhausted if its
// bucket is full. Other errors as for RecordAllocation.
func (p *GenericMemoryPool[B]) AddFree(buffer B, bytes uint64) error {
	const op = "fallback.pre_allocate"
	if bytes == 0 {
		return device.Errorf(device.CodeInvalidSize, op, "bytes is 0")
	}
	if err := p.grow(op, bytes); err != nil {
		return err
	}
	p.stats.pooled.Add(bytes)
	if !p.file(pooled[B]{buffer, bytes}) {
		minus(&p.stats.pooled, bytes)
		minus(&p.stats.total, bytes)
		return device.Errorf(device.CodeResourceExhausted, op, "the bucket of %v is full", device.Size(bytes))
	}
	return nil
}

// drop releases free buffers that are in no bucket.
func (p *GenericMemoryPool[B]) drop(gone []pooled[B]) error {
	var failures []error
	for _, free := range gone {
		minus(&p.stats.pooled, free.bytes)
		minus(&p.stats.total, free.bytes)
		if p.release != nil {
			failures = append(failures, p.release(free.buffer, free.bytes))
		}
	}
	return errors.Join(failures...)
}

// RecordCPUFallback counts a request that was served on the host.
func (p *GenericMemoryPool[B]) RecordCPUFallback() { p.stats.fallbacks.Add(1) }

// PooledCount returns the number of free buffers.
func (p *GenericMemoryPool[B]) PooledCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// Clear releases all free buffers.
func (p *GenericMemoryPool[B]) Clear() error {
	_, err := p.Shrink()
	return err
}

// Shrink releases all free buffers and returns the sum of their bytes. The owner of the
// buffers knows how much of it the device got back.
func (p *GenericMemoryPool[B]) Shrink() (droppedBytes uint64, err error) {
	p.mu.Lock()
	var gone []pooled[B]
	for i, free := range p.buckets {
		gone = append(gone, free...)
		p.buckets[i] = nil
	}
	dropped := p.bytes
	p.bytes, p.count = 0, 0
	p.mu.Unlock()
	return dropped, p.drop(gone)
}

// Drain removes up to count free buffers from the pool; the caller frees them.
func (p *GenericMemoryPool[B]) Drain(count int) []Lease[B] {
	p.mu.Lock()
	defer p.mu.Unlock()
	var gone []Lease[B]
	for bucket := range p.buckets {
		for len(gone) < count && len(p.buckets[bucket]) > 0 {
			free := p.remove(bucket, len(p.buckets[bucket])-1)
			minus(&p.stats.pooled, free.bytes)
			minus(&p.stats.total, free.bytes)
			gone = append(gone, Lease[B]{Buffer: free.buffer, Bytes: free.bytes})
		}
	}
	return gone
}

// bucketOf returns the bucket of a size: the exponent of the power of two at or above
// it.
func bucketOf(bytes uint64) (int, error) {
	class, err := SizeClass(bytes)
	if err != nil {
		return 0, err
	}
	return bits.TrailingZeros64(class), nil
}
