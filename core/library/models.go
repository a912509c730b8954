package library

import (
	"fmt"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm"
)

// ModelRef names a model of an elastic pool.
type ModelRef struct {
	// Pool is the handle of the elastic pool.
	Pool uint64
	ID   string
}

// model finds a model.
func (l *Library) model(op string, ref ModelRef) (*openElasticPool, *vmm.Model, error) {
	entry, err := find(l, l.elasticPools, op, ref.Pool)
	if err != nil {
		return nil, nil, err
	}
	m, err := entry.pool.Model(ref.ID)
	return entry, m, late(err, entry)
}

// ElasticPoolRegisterModel adds a model to an elastic pool.
func (l *Library) ElasticPoolRegisterModel(ref ModelRef, c vmm.ModelConfig) error {
	entry, err := find(l, l.elasticPools, "model.register", ref.Pool)
	if err != nil {
		return err
	}
	_, err = entry.pool.Register(ref.ID, c)
	return late(err, entry)
}

// ElasticPoolUnregisterModel takes a model out of its pool. While it has ranges, or
// allocations that wait, it is CodeBusy, unless forced.
func (l *Library) ElasticPoolUnregisterModel(ref ModelRef, force bool) error {
	entry, err := find(l, l.elasticPools, "model.unregister", ref.Pool)
	if err != nil {
		return err
	}
	leaks := newLeakReport()
	if force {
		leaks.addRanges(entry.device, ref.Pool, func(fn func(vmm.Range) bool) {
			entry.pool.EachRange(func(r vmm.Range) bool { return r.Model != ref.ID || fn(r) })
		})
	}
	if err := entry.pool.Unregister(ref.ID, force); err != nil {
		return l.orLog(late(err, entry), force, ref.Pool)
	}
	l.logLeaks("model unregistered by force", leaks)
	return nil
}

// ModelRequest is a range of a model, as asked for.
type ModelRequest struct {
	RangeRequest
	// Placed says that the offset is the caller's; else it is 0, and the first place
	// where there is room is taken.
	Placed bool
}

// ElasticPoolAlloc is ElasticPoolAllocWith for a size of which nothing else is asked for.
func (l *Library) ElasticPoolAlloc(ref ModelRef, sizeBytes uint64) (addr device.Addr, offsetBytes uint64, err error) {
	return l.ElasticPoolAllocWith(ref, ModelRequest{RangeRequest: RangeRequest{AllocRequest: vmm.AllocRequest{SizeBytes: sizeBytes}}})
}

// ElasticPoolAllocWith maps memory behind a range of a model, and says where that is.
func (l *Library) ElasticPoolAllocWith(ref ModelRef, r ModelRequest) (addr device.Addr, offsetBytes uint64, err error) {
	const op = "model.alloc"
	entry, m, err := l.model(op, ref)
	if err != nil {
		return 0, 0, err
	}
	if r.Stream, err = l.streamOrDefault(op, r.StreamHandle, entry.device); err != nil {
		return 0, 0, err
	}
	allocate := m.AllocTagged
	if r.Placed {
		allocate = m.AllocTaggedAt
	}
	made, err := allocate(r.AllocRequest)
	return made.Addr, made.OffsetBytes, late(err, entry)
}

// ElasticPoolFree takes the memory of a range away once the work is done that is queued
// now on the streams that use it and on the one named here (0: the default one).
func (l *Library) ElasticPoolFree(ref ModelRef, r ByteRange, stream uint64) error {
	const op = "model.free"
	entry, m, err := l.model(op, ref)
	if err != nil {
		return err
	}
	last, err := l.streamOrDefault(op, stream, entry.device)
	if err != nil {
		return err
	}
	return l.lateOn(stream, m.Free(r.OffsetBytes, r.SizeBytes, orDefault(last, entry.device)), entry)
}

// ElasticPoolRecordStream says that a stream (0: the default one) uses a range too.
func (l *Library) ElasticPoolRecordStream(ref ModelRef, r ByteRange, stream uint64) error {
	const op = "model.record_stream"
	entry, m, err := l.model(op, ref)
	if err != nil {
		return err
	}
	user, err := l.streamOrDefault(op, stream, entry.device)
	if err != nil {
		return err
	}
	return late(m.RecordStream(r.OffsetBytes, r.SizeBytes, user), entry)
}

// ElasticPoolIsMapped says whether every page that a range of a model touches is mapped.
func (l *Library) ElasticPoolIsMapped(ref ModelRef, r ByteRange) (bool, error) {
	_, m, err := l.model("model.is_mapped", ref)
	if err != nil {
		return false, err
	}
	return m.IsMapped(r.OffsetBytes, r.SizeBytes), nil
}

// ModelInfo describes a model.
type ModelInfo struct {
	vmm.ModelStats
	// BaseAddress is where its address space starts.
	BaseAddress device.Addr
}

// ElasticPoolGetModelInfo describes a model.
func (l *Library) ElasticPoolGetModelInfo(ref ModelRef) (ModelInfo, error) {
	_, m, err := l.model("model.info", ref)
	if err != nil {
		return ModelInfo{}, err
	}
	return ModelInfo{ModelStats: m.Stats(), BaseAddress: m.BaseAddress()}, nil
}

// ElasticPoolSetModelLimits changes the limits of a model while it and others run.
func (l *Library) ElasticPoolSetModelLimits(ref ModelRef, limits vmm.ModelLimits) error {
	return do(l, l.elasticPools, "model.set_limits", ref.Pool, func(p *openElasticPool) error { return p.pool.SetModelLimits(ref.ID, limits) })
}

// modelCallback is what a reclaim callback of a model is of.
type modelCallback struct {
	pool    *openElasticPool
	model   string
	reclaim *vmm.Reclaim
}

func (c *modelCallback) String() string {
	return fmt.Sprintf("reclaim callback of model %q of elastic pool %q", c.model, c.pool.pool.Name())
}

func (c *modelCallback) hasEnded() bool { return c.reclaim.HasEnded() }

// ModelReclaimCallbackAdd makes fn be asked to free memory of a model when pages of
// its pool are short; it returns the bytes that it has freed. It runs on a worker
// with no lock held. token is as for PressureCallbackAdd.
func (l *Library) ModelReclaimCallbackAdd(ref ModelRef, token uint64, deadline time.Duration, fn func(needed uint64) uint64) (uint64, error) {
	const op = "callback.model_reclaim_add"
	if fn == nil {
		return 0, device.Errorf(device.CodeNullPointer, op, "callback is nil")
	}
	entry, err := find(l, l.elasticPools, op, ref.Pool)
	if err != nil {
		return 0, err
	}
	if err := entry.device.pass(op); err != nil {
		return 0, err
	}
	defer entry.device.gate.leave()
	callback, err := entry.pool.OnReclaim(ref.ID, deadline, func(needed uint64) (freed uint64) {
		l.running.during(entry.device, func() { freed = fn(needed) })
		return freed
	})
	if err != nil {
		return 0, late(err, entry)
	}
	made := &registration{
		token: token, reclaims: true, callback: callback, device: entry.device,
		subject: &modelCallback{pool: entry, model: ref.ID, reclaim: callback},
	}
	handle, err := insert(l.registrations, made)
	if err != nil {
		callback.Remove(false)
		return 0, on(err, entry.device.engine)
	}
	return handle, nil
}
