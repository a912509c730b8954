package library

import (
	"fmt"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm"
)

// RegisterModel adds a model to the pool.
func (p *ElasticPool) RegisterModel(model string, c vmm.ModelConfig) error {
	_, err := p.Register(model, c)
	return err
}

// UnregisterModel removes a model from the pool. Without force it returns CodeBusy
// while the model has ranges or waiting allocations.
func (p *ElasticPool) UnregisterModel(model string, force bool) error {
	ownsItself := len(p.held.owned(model)) > 0
	if err := p.held.vacate("elastic_pool.unregister_model", model, force); err != nil {
		return p.library.log.orLog(CallError(err, p), force, p.id())
	}
	if _, isThere := p.ModelStats(model); ownsItself && !isThere {
		// The end of its executor has removed it.
		return nil
	}
	leaks := newLeakReport()
	if force {
		leaks.addRanges(p.device, p.id(), func(fn func(vmm.Range) bool) {
			p.EachRange(func(r vmm.Range) bool { return r.Model != model || fn(r) })
		})
	}
	if err := p.Unregister(model, force); err != nil {
		return p.library.log.orLog(CallError(err, p), force, p.id())
	}
	p.library.log.logLeaks("forced unregistration of a model", leaks)
	return nil
}

// ModelRequest is the request for a range of a model.
type ModelRequest struct {
	RangeRequest
	// Placed states that the caller chooses the offset. Otherwise the offset must be 0,
	// and the first free run that is long enough is used.
	Placed bool
}

// Alloc is AllocWith for a size without further options.
func (p *ElasticPool) Alloc(model string, sizeBytes uint64) (addr device.Addr, offsetBytes uint64, err error) {
	return p.AllocWith(model, ModelRequest{RangeRequest: RangeRequest{AllocRequest: vmm.AllocRequest{SizeBytes: sizeBytes}}})
}

// AllocWith maps memory for a range of a model, and returns its address and offset.
func (p *ElasticPool) AllocWith(model string, r ModelRequest) (addr device.Addr, offsetBytes uint64, err error) {
	m, err := p.held.callersModel("model.alloc", p.Elastic, model)
	if err != nil {
		return 0, 0, err
	}
	if r.Stream, err = p.library.registry.streamOrDefault("model.alloc", r.StreamHandle, p.device); err != nil {
		return 0, 0, err
	}
	allocate := m.AllocTagged
	if r.Placed {
		allocate = m.AllocTaggedAt
	}
	made, err := allocate(r.AllocRequest)
	return made.Addr, made.OffsetBytes, err
}

// Free frees the memory of a range of a model, after the work that is queued now on the
// streams that use it and on the stream passed here (0: the default one).
func (p *ElasticPool) Free(model string, r ByteRange, stream uint64) error {
	m, err := p.held.callersModel("model.free", p.Elastic, model)
	if err != nil {
		return err
	}
	last, err := p.library.registry.streamOrDefault("model.free", stream, p.device)
	if err != nil {
		return err
	}
	return p.library.registry.callErrorOn(stream, m.Free(r.OffsetBytes, r.SizeBytes, orDefault(last, p.device)), p)
}

// AllocBatch maps many ranges of a model, or none.
func (p *ElasticPool) AllocBatch(model string, ranges []ByteRange, r BatchRequest) error {
	m, err := p.held.callersModel("model.alloc_batch", p.Elastic, model)
	if err != nil {
		return err
	}
	if r.Stream, err = p.library.registry.streamOrDefault("model.alloc_batch", r.StreamHandle, p.device); err != nil {
		return err
	}
	return m.AllocBatch(ranges, r.BatchRequest)
}

// AllocBatchAnywhere maps many ranges of a model, each at the first free place, or none. It
// writes their offsets to offsets, which is as long as sizes.
func (p *ElasticPool) AllocBatchAnywhere(model string, sizes []uint64, r BatchRequest, offsets []uint64) error {
	m, err := p.held.callersModel("model.alloc_batch_anywhere", p.Elastic, model)
	if err != nil {
		return err
	}
	if r.Stream, err = p.library.registry.streamOrDefault("model.alloc_batch_anywhere", r.StreamHandle, p.device); err != nil {
		return err
	}
	placed, err := m.AllocBatchAnywhere(sizes, r.BatchRequest)
	copy(offsets, placed)
	return err
}

// FreeBatch frees many ranges of a model, or none.
func (p *ElasticPool) FreeBatch(model string, ranges []ByteRange, stream uint64) error {
	m, err := p.held.callersModel("model.free_batch", p.Elastic, model)
	if err != nil {
		return err
	}
	last, err := p.library.registry.streamOrDefault("model.free_batch", stream, p.device)
	if err != nil {
		return err
	}
	return p.library.registry.callErrorOn(stream, m.FreeBatch(ranges, orDefault(last, p.device)), p)
}

// RecordStream records that a stream (0: the default one) also uses a range of a model.
func (p *ElasticPool) RecordStream(model string, r ByteRange, stream uint64) error {
	m, err := p.Model(model)
	if err != nil {
		return err
	}
	user, err := p.library.registry.streamOrDefault("model.record_stream", stream, p.device)
	if err != nil {
		return err
	}
	return m.RecordStream(r.OffsetBytes, r.SizeBytes, user)
}

// RecordStreamBatch records that a stream (0: the default one) also uses many ranges of a
// model, or none.
func (p *ElasticPool) RecordStreamBatch(model string, ranges []ByteRange, stream uint64) error {
	m, err := p.Model(model)
	if err != nil {
		return err
	}
	user, err := p.library.registry.streamOrDefault("model.record_stream_batch", stream, p.device)
	if err != nil {
		return err
	}
	return m.RecordStreamBatch(ranges, user)
}

// IsMapped reports whether every page that a range of a model touches is mapped.
func (p *ElasticPool) IsMapped(model string, r ByteRange) (bool, error) {
	m, err := p.Model(model)
	if err != nil {
		return false, err
	}
	return m.IsMapped(r.OffsetBytes, r.SizeBytes), nil
}

// ModelInfo describes a model.
type ModelInfo struct {
	vmm.ModelStats
	// BaseAddress is the start of its address space.
	BaseAddress device.Addr
}

// ModelInfo describes a model.
func (p *ElasticPool) ModelInfo(model string) (ModelInfo, error) {
	m, err := p.Model(model)
	if err != nil {
		return ModelInfo{}, err
	}
	return ModelInfo{ModelStats: m.Stats(), BaseAddress: m.BaseAddress()}, nil
}

// modelCallback is the subject of a reclaim callback of a model.
type modelCallback struct {
	pool    *ElasticPool
	model   string
	reclaim *vmm.Reclaim
}

func (c *modelCallback) String() string {
	return fmt.Sprintf("reclaim callback of model %q of elastic pool %q", c.model, c.pool.Name())
}

func (c *modelCallback) hasEnded() bool { return c.reclaim.HasEnded() }

// ReclaimCallbackAdd registers fn to free memory of a model when pages of the pool are
// short. fn returns the bytes that it has freed. It runs on a worker with no lock held.
// token is as for PressureCallbackAdd.
func (p *ElasticPool) ReclaimCallbackAdd(model string, token uint64, deadline time.Duration, fn func(needed uint64) uint64) (uint64, error) {
	const op = "callback.model_reclaim_add"
	if fn == nil {
		return 0, device.Errorf(device.CodeNullPointer, op, "callback is nil")
	}
	if err := p.device.pass(op); err != nil {
		return 0, err
	}
	defer p.device.gate.exit()
	callback, err := p.OnReclaim(model, deadline, func(needed uint64) (freed uint64) {
		p.library.running.during(p.device, func() { freed = fn(needed) })
		return freed
	})
	if err != nil {
		return 0, CallError(err, p)
	}
	made := &registration{
		token: token, reclaims: true, callback: callback, device: p.device,
		subject: &modelCallback{pool: p, model: model, reclaim: callback},
	}
	handle, err := insert(p.library, p.library.registry.registrations, made)
	if err != nil {
		callback.Remove(false)
		return 0, on(err, p.device.Engine)
	}
	return handle, nil
}
