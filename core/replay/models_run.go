package replay

import (
	"context"
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm"
)

// runSettings has the settings of one run of a prepared replay.
type runSettings struct {
	limitBytes uint64
	bounds     []modelBounds
	policy     Policy
	// before is the number of requests that arrived in earlier runs; runs is the number
	// of all runs.
	before, runs int
	// untilFailure ends the run with the first request that fails.
	untilFailure bool
}

// play replays under one policy, on its own device, and also returns the device's id.
func (b *preparedReplay) play(ctx context.Context, s runSettings) (run PolicyRun, id string, err error) {
	e, err := b.options.Open(s.limitBytes + capacitySlack)
	if err != nil {
		return run, "", err
	}
	id = e.ID().String()
	run, err = b.playOn(ctx, e, s)
	return run, id, errors.Join(err, e.Close())
}

// playOn creates one pool that all models share or, for a static split, one pool for
// each.
func (b *preparedReplay) playOn(ctx context.Context, e *engine.Engine, s runSettings) (run PolicyRun, err error) {
	var pools []*vmm.Elastic
	defer func() {
		for _, pool := range pools {
			// With force, because blocks may be left after an error or a cancellation.
			err = errors.Join(err, pool.Close(true))
		}
	}()
	limits := []uint64{s.limitBytes}
	if s.policy == PolicyStatic {
		limits = limits[:0]
		for _, bounds := range s.bounds {
			limits = append(limits, bounds.most)
		}
	}
	for _, limit := range limits {
		pool, err := vmm.NewElastic(e, vmm.ElasticConfig{
			Name: "replay", LimitBytes: limit, PageBytes: b.options.PageBytes, Stepped: true,
		})
		if err != nil {
			return run, err
		}
		pools = append(pools, pool)
	}
	return b.playIn(ctx, pools, s)
}

func (b *preparedReplay) playIn(ctx context.Context, pools []*vmm.Elastic, s runSettings) (PolicyRun, error) {
	feeds, err := b.feeds()
	if err != nil {
		return PolicyRun{}, err
	}
	var seats []blockSource
	var memories []*modelMemory
	for i, m := range b.models {
		memory, err := newModelMemory(pools[min(i, len(pools)-1)], m.ID, s.bounds[i], b.demand.each[i].paged, b.clock)
		if err != nil {
			return PolicyRun{}, err
		}
		seats, memories = append(seats, memory), append(memories, memory)
	}
	steps := &windows{pools: pools}
	meter := newModelsMeter(seats, steps.held, &b.demand)
	steps.meter = meter
	rig := newRig(feeds, seats, meter, b.options.PageBytes)
	rig.waitNS, rig.untilFailure = b.options.WaitNS, s.untilFailure
	rig.pass, rig.settle = steps.pass, steps.settle
	requests := 0
	for _, m := range b.models {
		requests += m.Trace.Len()
	}
	err = rig.play(ctx, func(arrived int) {
		if b.options.Progress != nil {
			b.options.Progress(s.before+arrived, s.runs*requests)
		}
	})
	if err != nil {
		return PolicyRun{}, err
	}
	return b.report(s, meter, memories), nil
}

// report returns the result of a run.
func (b *preparedReplay) report(s runSettings, meter *modelsMeter, memories []*modelMemory) PolicyRun {
	run := PolicyRun{
		Policy: s.policy, Strategy: "first_fit", Usage: meter.total(), ReservedPeakBytes: meter.peakHeld,
		ReservedMeanBytes: meter.mean(meter.heldArea), ClockNS: b.clock.overheadNS, Duration: meter.now - meter.first,
	}
	var pairs histogram
	for i, m := range b.models {
		each := ModelRun{
			ID: m.ID, ShareBytes: s.bounds[i].most, GuaranteedBytes: s.bounds[i].guaranteed, Usage: meter.usage(i),
			HighWaterBytes: memories[i].highWater, Failures: append([]Failure{}, meter.each[i].failures...),
			FailuresByReason: countReasons(meter.each[i].reasons),
		}
		each.Requests, each.MovedPages = m.Trace.Len(), memories[i].model.Stats().MovedPages
		each.Fragmentation = ratio(float64(each.HighWaterBytes), float64(each.PeakLiveBytes))
		each.PairNSMedian, each.PairNSP99 = memories[i].pairs.quantile(0.5), memories[i].pairs.quantile(0.99)
		pairs.merge(&memories[i].pairs)
		run.Requests += each.Requests
		run.MovedPages += each.MovedPages
		run.Models = append(run.Models, each)
	}
	run.PairNSMedian, run.PairNSP99 = pairs.quantile(0.5), pairs.quantile(0.99)
	run.Series = meter.series(b.models)
	return run
}

// windows runs the steps of the pools' workers in the time of the trace: pages are made
// ready after each step, and pages that no allocation needed for a window are released.
type windows struct {
	pools []*vmm.Elastic
	meter *modelsMeter
	ended int64
}

// pass ends the windows until now. After two windows in which nothing happens there is
// nothing left to do.
func (w *windows) pass(now int64) {
	window := vmm.TrimWindow.Nanoseconds()
	for range 2 {
		if !w.meter.started || now-w.ended < window {
			break
		}
		w.ended += window
		w.meter.advance(w.ended)
		for _, pool := range w.pools {
			pool.Physical().Tick()
		}
		w.meter.sampleReserved()
	}
	w.meter.advance(now)
	w.ended = max(w.ended, now-now%window)
}

func (w *windows) settle() {
	for _, pool := range w.pools {
		pool.Physical().Settle()
	}
	w.meter.sampleReserved()
}

// held returns the bytes held from the device.
func (w *windows) held() (sum uint64) {
	for _, pool := range w.pools {
		sum += pool.GlobalStats().HeldBytes
	}
	return sum
}

// modelMemory allocates a model's blocks from an elastic pool, and times the calls.
type modelMemory struct {
	model     *vmm.Model
	pageBytes uint64
	// reach is the most that the model can ever have at once.
	reach     uint64
	highWater uint64
	clock     clock
	pairs     histogram
}

// newModelMemory registers a model with several times the address space that the trace
// needs, so that placement never fails.
func newModelMemory(pool *vmm.Elastic, id string, b modelBounds, demandBytes uint64, c clock) (*modelMemory, error) {
	space := max(demandBytes, b.reach, pool.PageBytes())
	model, err := pool.Register(id, vmm.ModelConfig{
		VirtualBytes: min(space, MaxRangeBytes/rangeFactor) * rangeFactor, GuaranteedBytes: b.guaranteed, MaxBytes: b.most,
	})
	return &modelMemory{model: model, pageBytes: pool.PageBytes(), reach: b.reach, clock: c}, err
}

func (m *modelMemory) alloc(w blockRequest) (block, *refusal, error) {
	start := m.clock.now()
	got, err := m.model.Alloc(w.size)
	took := m.clock.now() - start
	switch {
	// If the device has less than the limit, it is an error of the machine.
	case errors.Is(err, device.CodeOutOfPhysicalMemory) && !errors.Is(err, device.CodeOutOfMemory):
		reason := ReasonLimit
		if inPages(w.size, m.pageBytes) > m.reach {
			reason = ReasonTooLarge
		}
		return block{}, &refusal{reason}, nil
	case errors.Is(err, device.CodeOutOfVirtualMemory):
		return block{}, &refusal{ReasonFragmentation}, nil
	case err != nil:
		return block{}, nil, err
	}
	m.highWater = max(m.highWater, got.OffsetBytes+w.size)
	return block{addr: got.Addr, size: w.size, tookNS: took}, nil, nil
}

func (m *modelMemory) free(b block) error {
	start := m.clock.now()
	err := m.model.Free(uint64(b.addr-m.model.BaseAddress()), b.size, nil)
	took := m.clock.now() - start
	m.pairs.add(b.tookNS + took - 2*m.clock.overheadNS)
	return err
}

func (m *modelMemory) room() uint64     { return m.model.Stats().AvailableBytes }
func (m *modelMemory) physical() uint64 { return m.model.Stats().PhysicalBytes }

// RunModels replays several traces, merged in order of time, through one elastic pool
// for each policy. Errors: CodeCancelled, CodeInvalidArgument for invalid settings,
// CodeUnsupportedDevice for a device without virtual memory, those of the trace and of
// the pool. All memory is released in any case.
func RunModels(ctx context.Context, models []ModelTrace, o ModelsOptions) (*ModelsResult, error) {
	b, err := plan(ctx, models, &o)
	if err != nil {
		return nil, err
	}
	if err := b.checkLimit(o.LimitBytes); err != nil {
		return nil, err
	}
	if len(o.Policies) == 0 {
		o.Policies = []Policy{PolicyStatic, PolicyElastic}
	}
	r := b.result()
	r.LimitBytes = b.pages(o.LimitBytes) * o.PageBytes
	for i, policy := range o.Policies {
		bounds, err := b.bounds(policy, o.LimitBytes)
		if err != nil {
			return nil, err
		}
		run, id, err := b.play(ctx, runSettings{
			limitBytes: o.LimitBytes, bounds: bounds, policy: policy, before: i * r.Requests, runs: len(o.Policies),
		})
		if err != nil {
			return nil, err
		}
		r.Device = id
		r.Runs = append(r.Runs, run)
		r.Duration = max(r.Duration, run.Duration)
	}
	r.Comparison = compareRuns(r.Runs)
	return r, nil
}
