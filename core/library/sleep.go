package library

import (
	"context"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm"
)

// SleepRequest says what is to sleep, and how.
type SleepRequest struct {
	vmm.SleepRequest
	// StreamHandle takes the place of Stream; 0: all work of the device is waited for.
	StreamHandle uint64
	// Timeout is how long the call may take; device.Forever: no limit; 0: as long as it
	// does not have to wait for others (vmm.SleepRequest.NoWait).
	Timeout time.Duration
}

// WakeRequest says what is to wake.
type WakeRequest struct {
	vmm.WakeRequest
	// Timeout is as in SleepRequest.
	Timeout time.Duration
}

// within is the context of a call that may take so long. One of 0 does not wait for
// others, and has all the time that it needs itself.
func within(timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == device.Forever || timeout == 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), timeout)
}

// resolve finds the stream of a request.
func (l *Library) resolve(op string, r SleepRequest, d *openDevice) (vmm.SleepRequest, error) {
	request := r.SleepRequest
	request.NoWait = request.NoWait || r.Timeout == 0
	var err error
	request.Stream, err = l.streamOrDefault(op, r.StreamHandle, d)
	return request, err
}

// resolve is what the room is asked.
func (r WakeRequest) resolve() vmm.WakeRequest {
	request := r.WakeRequest
	request.NoWait = request.NoWait || r.Timeout == 0
	return request
}

// VPoolSleep has ranges of a virtual pool give up their memory and keep their
// addresses. See vmm.Pool.Sleep for its errors.
func (l *Library) VPoolSleep(id uint64, r SleepRequest) (vmm.SleepReport, error) {
	const op = "vpool.sleep"
	entry, err := find(l, l.vpools, op, id)
	if err != nil {
		return vmm.SleepReport{}, err
	}
	request, err := l.resolve(op, r, entry.device)
	if err != nil {
		return vmm.SleepReport{}, err
	}
	ctx, done := within(r.Timeout)
	defer done()
	report, err := entry.pool.Sleep(ctx, request)
	return report, l.lateOn(r.StreamHandle, err, entry)
}

// VPoolWake has what sleeps in a virtual pool get memory and its bytes back, at the
// addresses that it had. See vmm.Pool.Wake for its errors.
func (l *Library) VPoolWake(id uint64, r WakeRequest) (vmm.WakeReport, error) {
	entry, err := find(l, l.vpools, "vpool.wake", id)
	if err != nil {
		return vmm.WakeReport{}, err
	}
	ctx, done := within(r.Timeout)
	defer done()
	report, err := entry.pool.Wake(ctx, r.resolve())
	return report, late(err, entry)
}

// VPoolIsAsleep says whether a tag of a virtual pool, or everything (""), sleeps.
func (l *Library) VPoolIsAsleep(id uint64, tag string) (bool, error) {
	return tell(l, l.vpools, "vpool.is_asleep", id, func(p *openVPool) bool { return p.pool.IsAsleep(tag) })
}

// ElasticPoolSleepModel is VPoolSleep for a model.
func (l *Library) ElasticPoolSleepModel(ref ModelRef, r SleepRequest) (vmm.SleepReport, error) {
	const op = "model.sleep"
	entry, m, err := l.model(op, ref)
	if err != nil {
		return vmm.SleepReport{}, err
	}
	request, err := l.resolve(op, r, entry.device)
	if err != nil {
		return vmm.SleepReport{}, err
	}
	ctx, done := within(r.Timeout)
	defer done()
	report, err := m.Sleep(ctx, request)
	return report, l.lateOn(r.StreamHandle, err, entry)
}

// ElasticPoolWakeModel is VPoolWake for a model.
func (l *Library) ElasticPoolWakeModel(ref ModelRef, r WakeRequest) (vmm.WakeReport, error) {
	entry, m, err := l.model("model.wake", ref)
	if err != nil {
		return vmm.WakeReport{}, err
	}
	ctx, done := within(r.Timeout)
	defer done()
	report, err := m.Wake(ctx, r.resolve())
	return report, late(err, entry)
}

// ElasticPoolIsModelAsleep is VPoolIsAsleep for a model.
func (l *Library) ElasticPoolIsModelAsleep(ref ModelRef, tag string) (bool, error) {
	_, m, err := l.model("model.is_asleep", ref)
	if err != nil {
		return false, err
	}
	return m.IsAsleep(tag), nil
}
