package library

import (
	"context"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm"
)

// SleepRequest states which allocations go to sleep, and how.
type SleepRequest struct {
	vmm.SleepRequest
	// StreamHandle replaces Stream; 0: Sleep waits for all work of the device.
	StreamHandle uint64
	// Timeout bounds the call; device.Forever: no limit; 0: the call does not wait for
	// others (vmm.SleepRequest.NoWait), but takes the time it needs.
	Timeout time.Duration
}

// WakeRequest states which allocations wake.
type WakeRequest struct {
	vmm.WakeRequest
	// Timeout is as in SleepRequest.
	Timeout time.Duration
}

// within returns a context for a timeout. With 0 the call does not wait for others, so
// the context has no deadline.
func within(timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == device.Forever || timeout == 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), timeout)
}

// resolve finds the stream of a request.
func (g *registry) resolve(op string, r SleepRequest, d *Device) (vmm.SleepRequest, error) {
	request := r.SleepRequest
	request.NoWait = request.NoWait || r.Timeout == 0
	var err error
	request.Stream, err = g.streamOrDefault(op, r.StreamHandle, d)
	return request, err
}

// resolve returns the request for core/vmm.
func (r WakeRequest) resolve() vmm.WakeRequest {
	request := r.WakeRequest
	request.NoWait = request.NoWait || r.Timeout == 0
	return request
}

// Sleep puts ranges of the pool to sleep: they release their memory and keep their
// addresses. See vmm.Pool.Sleep for its errors.
func (p *VPool) Sleep(r SleepRequest) (vmm.SleepReport, error) {
	request, err := p.library.registry.resolve("vpool.sleep", r, p.device)
	if err != nil {
		return vmm.SleepReport{}, err
	}
	ctx, done := within(r.Timeout)
	defer done()
	if err := p.held.await(ctx, "vpool.sleep", "", request.Tag, request.NoWait); err != nil {
		return vmm.SleepReport{}, err
	}
	report, err := p.Pool.Sleep(ctx, request)
	return report, p.library.registry.callErrorOn(r.StreamHandle, err, p)
}

// Wake wakes the sleeping ranges of the pool: they get memory and their bytes at the
// same addresses. See vmm.Pool.Wake for its errors.
func (p *VPool) Wake(r WakeRequest) (vmm.WakeReport, error) {
	ctx, done := within(r.Timeout)
	defer done()
	return p.Pool.Wake(ctx, r.resolve())
}

// SleepModel is VPool.Sleep for a model.
func (p *ElasticPool) SleepModel(model string, r SleepRequest) (vmm.SleepReport, error) {
	m, err := p.held.callersModel("model.sleep", p.Elastic, model)
	if err != nil {
		return vmm.SleepReport{}, err
	}
	request, err := p.library.registry.resolve("model.sleep", r, p.device)
	if err != nil {
		return vmm.SleepReport{}, err
	}
	ctx, done := within(r.Timeout)
	defer done()
	if err := p.held.await(ctx, "model.sleep", model, request.Tag, request.NoWait); err != nil {
		return vmm.SleepReport{}, err
	}
	report, err := m.Sleep(ctx, request)
	return report, p.library.registry.callErrorOn(r.StreamHandle, err, p)
}

// WakeModel is VPool.Wake for a model.
func (p *ElasticPool) WakeModel(model string, r WakeRequest) (vmm.WakeReport, error) {
	m, err := p.held.callersModel("model.wake", p.Elastic, model)
	if err != nil {
		return vmm.WakeReport{}, err
	}
	ctx, done := within(r.Timeout)
	defer done()
	return m.Wake(ctx, r.resolve())
}

// IsModelAsleep is IsAsleep for a model.
func (p *ElasticPool) IsModelAsleep(model, tag string) (bool, error) {
	m, err := p.Model(model)
	if err != nil {
		return false, err
	}
	return m.IsAsleep(tag), nil
}
