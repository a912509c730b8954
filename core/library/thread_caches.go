package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/lending"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/rangealloc"
)

// ThreadCaches creates the thread caches in front of pools. Its methods may be called
// from any goroutine, with no lock held, and make no callbacks.
type ThreadCaches interface {
	// Open creates caches for the pool with that handle, before any caller knows the
	// handle; nil: the pool has no caches.
	Open(pool uint64, c pool.Config) pool.Cache
	// ForgetStream states that a stream was destroyed and has no work left. The caches
	// must not look up its handle any more.
	ForgetStream(stream uint64)
}

// openCaches creates thread caches for a new pool, if its settings allow them.
func (l *Library) openCaches(handle uint64, p *pool.Pool) {
	c := p.Config()
	if l.options.ThreadCaches == nil || c.ThreadCacheBytes == 0 || c.Tracking || c.Debug != 0 ||
		!rangealloc.TraitsOf(c.Strategy).Cacheable {
		return
	}
	if cache := l.options.ThreadCaches.Open(handle, c); cache != nil {
		p.SetCache(cache, l.registry.cacheStream)
	}
}

// Lending provides places where pools lend their tables. Its method may be called from
// any goroutine and makes no callbacks.
type Lending interface {
	// Of returns the place for the pool with that handle. No other pool uses the place
	// while the handle is valid; nil: there is none.
	Of(handle uint64) *lending.State
}

// cacheStream finds a stream for the caches; nil if it was destroyed.
func (g *registry) cacheStream(id uint64) device.Stream {
	stream, _, err := g.factory.Stream(manager.StreamHandle(id))
	if err != nil {
		return nil
	}
	return stream
}

// CacheStream returns the handle of the stream that a call for a pool means; 0 is the
// default stream of its device. Errors: CodeInvalidHandle; CodeInvalidArgument for a
// stream of another device; CodeUnsupported for a stream that may leave work when it is
// destroyed, because any stream may then reuse the blocks of its caches.
func (l *Library) CacheStream(id, stream uint64) (uint64, error) {
	const op = "pool.cache_stream"
	entry, s, err := l.onStream(op, id, stream)
	if err == nil && device.LeavesWork(s) {
		err = device.Errorf(device.CodeUnsupported, op, "the adopted stream may still run work of its owner after its handle is destroyed").On(entry.device.Engine.ID())
	}
	if err != nil || stream != 0 {
		return stream, err
	}
	if err := entry.device.pass(op); err != nil {
		return 0, err
	}
	defer entry.device.gate.exit()
	h, err := entry.device.streams.DefaultStream()
	return h.ID(), CallError(err, entry, entry.device)
}

// CacheStreamIsDry reports whether a stream is known to have no queued work. A
// destroyed stream has none.
func (l *Library) CacheStreamIsDry(id uint64) bool {
	stream := l.registry.cacheStream(id)
	if stream == nil {
		return true
	}
	dry, err := device.Drained(stream)
	return dry && err == nil
}

// CacheLease leases blocks to the caches of a pool, see pool.Pool.Lease.
func (l *Library) CacheLease(id, sizeBytes, stream uint64, to []device.Addr, counts *pool.CacheCounts) (int, error) {
	entry, first, err := l.onStream("pool.lease", id, stream)
	if err != nil {
		return 0, err
	}
	leased, err := entry.Lease(sizeBytes, first, to, counts)
	return leased, l.registry.callErrorOn(stream, err, entry)
}

// CacheGiveBack returns idle blocks from the caches to a pool, freed on a stream. For 0
// or a destroyed stream no work uses the blocks any more.
func (l *Library) CacheGiveBack(id, stream uint64, addrs []device.Addr, counts *pool.CacheCounts) error {
	entry, err := l.Pool("pool.return_leased", id)
	if err != nil {
		return err
	}
	var last device.Stream
	if stream != 0 {
		last = l.registry.cacheStream(stream)
	}
	return l.registry.callErrorOn(stream, entry.ReturnLeased(addrs, last, counts), entry)
}
