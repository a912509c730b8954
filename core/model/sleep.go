package model

import (
	"context"
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm"
)

// SleepOptions state where the parameters of a sleeping model are kept.
type SleepOptions struct {
	// Backing, Dir and Streams are as in vmm.SleepRequest. SleepDiscard is not possible.
	Backing vmm.SleepBacking
	Dir     string
	Streams int
	// NoWait returns CodeBusy if another call uses the model, and otherwise is as in vmm.SleepRequest.
	NoWait bool
}

// SleepReport is the result of Sleep.
type SleepReport struct {
	// Bytes is the memory that went back: to the pool, and from it to the device what no other model needs.
	Bytes uint64 `json:"bytes"`
	// KeptBytes are copied, and DiscardedBytes are those of the arena, which nothing needs between runs.
	KeptBytes      uint64 `json:"kept_bytes"`
	DiscardedBytes uint64 `json:"discarded_bytes"`
	// ReleasedBytes are idle pages that the pool then returned to the device: those of the arena, and others
	// that no model used. The pages of the parameters went back while they were copied.
	ReleasedBytes uint64 `json:"released_bytes"`
	// Path is the file of vmm.SleepToFile; "" if there was nothing to write.
	Path string `json:"path,omitempty"`
	Ns   uint64 `json:"ns"`
}

// Sleep puts the model to sleep: it waits for the call that uses it, copies the parameters to other memory
// and releases their pages and those of the arena. Addresses stay, so the planned shapes do. Runs wait for
// Wake, or return CodeBusy. Errors: CodeInvalidState if the model sleeps or is closed; CodeInvalidArgument
// for SleepDiscard; those of vmm.Model.Sleep. After an error the model is awake, unless the arena cannot
// be woken either: then it sleeps, and Wake may be called.
func (x *Executor) Sleep(ctx context.Context, o SleepOptions) (SleepReport, error) {
	if o.Backing == vmm.SleepDiscard {
		return SleepReport{}, x.fail(device.CodeInvalidArgument, opSleep, "its parameters cannot be discarded")
	}
	if err := x.take(ctx, opSleep, o.NoWait); err != nil {
		return SleepReport{}, err
	}
	defer x.leave()
	x.mu.Lock()
	isClosed, sleeps := x.isClosed, x.awake != nil
	x.mu.Unlock()
	switch {
	case isClosed:
		return SleepReport{}, x.closed(opSleep)
	case sleeps:
		return SleepReport{}, x.fail(device.CodeInvalidState, opSleep, "it sleeps already")
	}
	report, err := x.sleep(ctx, o)
	if err == nil || x.arena.isAsleep() {
		x.mu.Lock()
		x.awake = make(chan struct{})
		x.mu.Unlock()
	}
	if err != nil {
		return SleepReport{}, x.fail(device.CodeOf(err), opSleep, "%w", err)
	}
	if released, err := x.pool.Physical().Trim(0); err == nil { // what it cannot release stays for others
		report.ReleasedBytes = released
	}
	return report, nil
}

// sleep implements Sleep. The caller has the turn.
func (x *Executor) sleep(ctx context.Context, o SleepOptions) (report SleepReport, err error) {
	if len(x.arena.pieces) > 0 {
		request := vmm.SleepRequest{Tag: ArenaTag, Backing: vmm.SleepDiscard, NoWait: o.NoWait}
		if x.computation.needsArena() {
			request.Backing, request.Dir, request.Streams = o.Backing, o.Dir, o.Streams
		}
		got, err := x.model.Sleep(ctx, request)
		if err != nil {
			return report, err
		}
		report.DiscardedBytes, report.Ns = got.Bytes, got.Ns
		if x.computation.needsArena() {
			report.KeptBytes, report.DiscardedBytes = got.Bytes, 0
		}
	}
	if len(x.parameters.pieces) > 0 {
		got, err := x.model.Sleep(ctx, vmm.SleepRequest{Tag: ParametersTag, Backing: o.Backing, Dir: o.Dir, Streams: o.Streams, NoWait: o.NoWait})
		if err != nil {
			if x.arena.isAsleep() {
				// The context may have ended, and the pages of the arena are still those of the pool.
				_, woken := x.model.Wake(context.Background(), vmm.WakeRequest{Tag: ArenaTag, NoWait: true})
				err = errors.Join(err, woken)
			}
			return report, err
		}
		report.KeptBytes, report.Path, report.Ns = report.KeptBytes+got.Bytes, got.Path, report.Ns+got.Ns
	}
	report.Bytes = report.KeptBytes + report.DiscardedBytes
	return report, nil
}

// Wake wakes a model that Sleep, or a Sleep of its memory through the pool, has put to sleep: its memory is
// at the same addresses with the same parameters. Errors:
// CodeInvalidState if the model is awake or closed; those of vmm.Model.Wake, after which it sleeps as
// before.
func (x *Executor) Wake(ctx context.Context, r vmm.WakeRequest) (vmm.WakeReport, error) {
	if err := x.take(ctx, opWake, r.NoWait); err != nil {
		return vmm.WakeReport{}, err
	}
	defer x.leave()
	x.mu.Lock()
	isClosed, sleeps := x.isClosed, x.awake != nil
	x.mu.Unlock()
	switch {
	case isClosed:
		return vmm.WakeReport{}, x.closed(opWake)
	case !sleeps && !x.parameters.isAsleep() && !x.arena.isAsleep():
		return vmm.WakeReport{}, x.fail(device.CodeInvalidState, opWake, "it is awake")
	}
	report := vmm.WakeReport{}
	if x.parameters.isAsleep() || x.arena.isAsleep() {
		r.Tag = ""
		var err error
		if report, err = x.model.Wake(ctx, r); err != nil {
			return vmm.WakeReport{}, x.fail(device.CodeOf(err), opWake, "%w", err)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.awake != nil {
		close(x.awake)
		x.awake = nil
	}
	return report, nil
}

// IsAsleep states whether the model sleeps, also if its memory was put to sleep through the pool.
func (x *Executor) IsAsleep() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.awake != nil || !x.isClosed && (x.model.IsAsleep(ParametersTag) || x.model.IsAsleep(ArenaTag))
}
