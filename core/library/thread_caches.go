package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/lending"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/rangealloc"
)

// ThreadCaches makes the thread caches that stand in front of pools. Its methods
// may be called from any goroutine, with no lock held, and call nobody back.
type ThreadCaches interface {
	// Open puts caches in front of the pool with that handle, which nobody knows
	// yet; nil: the pool works without.
	Open(pool uint64, c pool.Config) pool.Cache
	// ForgetStream says that a stream is gone, with no work left: its handle is
	// not to be looked up any more.
	ForgetStream(stream uint64)
}

// openCaches puts thread caches in front of a new pool, if it is to have any.
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

// Lending gives pools a place to lend their tables at. Its method may be called from any
// goroutine, and calls nobody back.
type Lending interface {
	// Of gives the place for the pool with that handle, where no other one lends as long
	// as the handle is good; nil: there is none for it.
	Of(handle uint64) *lending.State
}

// cacheStream finds a stream for the caches; nil when it is gone.
func (g *registry) cacheStream(id uint64) device.Stream {
	stream, _, err := g.factory.Stream(manager.StreamHandle(id))
	if err != nil {
		return nil
	}
	return stream
}

// CacheStream is the handle of the stream that a call for a pool means: 0 is the
// default one of its device. Errors: CodeInvalidHandle, CodeInvalidArgument for
// a stream of another device, CodeUnsupported for one that leaves work when it is
// destroyed: what the caches have of a stream is anybody's then.
func (l *Library) CacheStream(id, stream uint64) (uint64, error) {
	const op = "pool.cache_stream"
	entry, s, err := l.onStream(op, id, stream)
	if err == nil && device.LeavesWork(s) {
		err = device.Errorf(device.CodeUnsupported, op, "the stream may leave work of its owner's").On(entry.device.Engine.ID())
	}
	if err != nil || stream != 0 {
		return stream, err
	}
	if err := entry.device.pass(op); err != nil {
		return 0, err
	}
	defer entry.device.gate.leave()
	h, err := entry.device.streams.DefaultStream()
	return h.ID(), CallError(err, entry, entry.device)
}

// CacheStreamIsDry says that no work is queued on a stream, as far as that can be known.
// One that is gone has run dry.
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

// CacheGiveBack takes idle blocks back from the caches of a pool, as freed on a
// stream; 0, and one that is gone: no work uses them any more.
func (l *Library) CacheGiveBack(id, stream uint64, addrs []device.Addr, counts *pool.CacheCounts) error {
	entry, err := l.Pool("pool.give_back", id)
	if err != nil {
		return err
	}
	var last device.Stream
	if stream != 0 {
		last = l.registry.cacheStream(stream)
	}
	return l.registry.callErrorOn(stream, entry.GiveBack(addrs, last, counts), entry)
}
