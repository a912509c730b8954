package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
)

// onStream finds a pool and a stream of its device. For 0, the default stream, it
// returns nil.
func (l *Library) onStream(op string, id, streamID uint64) (*Pool, device.Stream, error) {
	entry, err := l.Pool(op, id)
	if err != nil || streamID == 0 {
		return entry, nil, err
	}
	stream, err := l.registry.streamOf(op, streamID, entry.device)
	return entry, stream, err
}

// PoolRequest is the request for a block.
type PoolRequest struct {
	pool.Request
	// StreamHandle replaces Stream: the stream that uses the block first; 0: the
	// default stream of the pool's device.
	StreamHandle uint64
}

// AllocWith allocates a block for a request.
func (p *Pool) AllocWith(request PoolRequest) (device.Addr, error) {
	const op = "pool.alloc"
	var err error
	if request.Stream, err = p.streamOf(op, request.StreamHandle); err != nil {
		return 0, err
	}
	addr, err := p.AllocAddr(&request.Request)
	return addr, p.callErrorOn(request.StreamHandle, err)
}

// streamOf finds a stream of the pool's device. For 0, the default stream, it returns
// nil.
func (p *Pool) streamOf(op string, stream uint64) (device.Stream, error) {
	return p.library.registry.streamOrDefault(op, stream, p.device)
}

// callErrorOn is CallError for a call that names a stream; 0: the default one.
func (p *Pool) callErrorOn(stream uint64, err error) error {
	return p.library.registry.callErrorOn(stream, err, p)
}

// AllocBatch fills to with blocks of sizeBytes each, which the stream uses first. It
// allocates all of them or none; then to has zeros.
func (p *Pool) AllocBatch(sizeBytes, stream uint64, to []device.Addr) error {
	first, err := p.streamOf("pool.alloc_batch", stream)
	if err != nil {
		return err
	}
	if err := p.Pool.AllocBatch(pool.Request{SizeBytes: sizeBytes, Stream: first}, to); err != nil {
		clear(to)
		return p.callErrorOn(stream, err)
	}
	return nil
}

// FreeSized is PoolFree with the requested size as a check.
func (p *Pool) FreeSized(addr device.Addr, sizeBytes, stream uint64) error {
	last, err := p.streamOf("pool.free_sized", stream)
	if err != nil {
		return err
	}
	return p.callErrorOn(stream, p.Pool.FreeSized(addr, sizeBytes, last))
}

// FreeBatch frees blocks: all of them or none.
func (p *Pool) FreeBatch(addrs []device.Addr, stream uint64) error {
	last, err := p.streamOf("pool.free_batch", stream)
	if err != nil {
		return err
	}
	return p.callErrorOn(stream, p.Pool.FreeBatch(addrs, last))
}

// RecordStream makes the free of a live block wait for a further stream.
func (p *Pool) RecordStream(addr device.Addr, stream uint64) error {
	user, err := p.streamOf("pool.record_stream", stream)
	if err != nil {
		return err
	}
	return p.callErrorOn(stream, p.Pool.RecordStream(addr, user))
}

// RecordStreamBatch makes the frees of live blocks wait for a further stream: of all, or
// of none.
func (p *Pool) RecordStreamBatch(addrs []device.Addr, stream uint64) error {
	user, err := p.streamOf("pool.record_stream_batch", stream)
	if err != nil {
		return err
	}
	return p.callErrorOn(stream, p.Pool.RecordStreamBatch(addrs, user))
}

// Reset frees every live block on the stream.
func (p *Pool) Reset(stream uint64) error {
	last, err := p.streamOf("pool.reset", stream)
	if err != nil {
		return err
	}
	return p.callErrorOn(stream, p.Pool.Reset(last))
}

// streamOf finds a stream, which must belong to the device.
func (g *registry) streamOf(op string, id uint64, d *Device) (device.Stream, error) {
	stream, e, err := g.factory.Stream(manager.StreamHandle(id))
	if err != nil {
		return nil, err
	}
	if e != d.Engine {
		return nil, device.Errorf(device.CodeInvalidArgument, op,
			"stream %#x is of device %v, the pool of %v", id, e.ID(), d.Engine.ID()).On(d.Engine.ID())
	}
	return stream, nil
}

// streamOrDefault is streamOf, but returns nil, which means the default stream, for 0.
func (g *registry) streamOrDefault(op string, id uint64, d *Device) (device.Stream, error) {
	if id == 0 {
		return nil, nil
	}
	return g.streamOf(op, id, d)
}
