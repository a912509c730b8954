package replay

import (
	"context"
	"math/bits"
	"path/filepath"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/trace"
)

const (
	// MaxRangeBytes bounds the address range of a replay without a limit.
	MaxRangeBytes = 64 << 40
	// rangeFactor is the size of the range divided by the most live memory at one time.
	// It is twice what the worst placements of real traces need.
	rangeFactor = 4
	// capacitySlack allows a device to round a segment up.
	capacitySlack = 64 << 20
)

// Options has the settings of a replay.
type Options struct {
	Rules trace.Rules
	// Strategy is a name of rangealloc.Names; "" is the default.
	Strategy string
	// LimitBytes is the most that the pool may hold; 0: no limit.
	LimitBytes uint64
	// Paging selects whether the pool maps pages for its blocks, as in pool.Config.
	// With pool.PagingOff and a limit the pool allocates whole segments. With
	// pool.PagingOff and no limit it is one plain range.
	Paging pool.Paging
	// AddressMap records where each block was and when, for Result.AddressMap.
	AddressMap bool
	// LifetimeHints passes to the pool, with every block, the time when the trace will
	// free it. The request of a block is passed in paged mode in any case, because an
	// inference engine knows it.
	LifetimeHints bool
	// Open opens the device for the replay. It must be able to hold capacityBytes that
	// are never accessed.
	Open func(capacityBytes uint64) (*engine.Engine, error)
	// Progress, if not nil, is called from time to time on the goroutine of Run with
	// the number of arrived requests, and at the end with all of them.
	Progress func(arrived, requests int)
	// atOnce makes the pool release idle memory whenever the time advances, as the
	// reference models of tests do.
	atOnce bool
}

// Run replays a trace. A cancelled context returns CodeCancelled. Invalid rules,
// strategies and limits return the errors of the packages that check them. All memory
// is released in any case.
func Run(ctx context.Context, t *trace.Trace, o Options) (*Result, error) {
	schedule, err := trace.NewSchedule(t, o.Rules)
	if err != nil {
		return nil, err
	}
	demand, err := survey(ctx, schedule)
	if err != nil {
		return nil, err
	}
	config, err := poolConfig(o, schedule.Rules(), demand)
	if err != nil {
		return nil, err
	}
	capacity := config.MaxSizeBytes
	if capacity == 0 {
		capacity = config.InitialSizeBytes
	}
	e, err := o.Open(capacity + capacitySlack)
	if err != nil {
		return nil, err
	}
	result, err := runOn(ctx, e, config, schedule, demand, o)
	if closeErr := e.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	result.Trace, result.Requests = filepath.Base(t.Name), t.Len()
	return result, nil
}

func runOn(ctx context.Context, e *engine.Engine, config pool.Config, schedule *trace.Schedule, demand demand, o Options) (*Result, error) {
	if err := tryLimit(e, o.LimitBytes); err != nil {
		return nil, err
	}
	if o.LimitBytes == 0 {
		config = withPages(e, config)
	}
	memory := newPoolMemory(o.LimitBytes)
	memory.atOnce = o.atOnce || schedule.Rules().Mode == trace.Lifetimes
	meter := newMeter(demand, memory.reservedBytes, memory.settle)
	config.Clock = meter.time
	p, err := pool.New(e, config)
	if err != nil {
		return nil, err
	}
	p.PauseReturn()
	memory.pool = p
	if o.AddressMap {
		memory.recorder = newRecorder(func() int64 { return meter.now })
	}
	schedule.Restart()
	player := newPlayer(schedule, memory, meter)
	player.hints = o.LifetimeHints
	err = play(ctx, player, func(arrived int) {
		if o.Progress != nil {
			o.Progress(arrived, schedule.Len())
		}
	})
	if err == nil {
		err = memory.failure
	}
	// With force, because blocks may be left after an error or a cancellation.
	if closeErr := p.Close(true); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	result := &Result{}
	meter.fill(result)
	memory.describe(result)
	rules := schedule.Rules()
	result.Mode, result.Strategy = rules.Mode.String(), p.Config().Strategy
	result.LifetimeHints = o.LifetimeHints
	result.Device = e.ID().String()
	result.BytesPerToken, result.JitterNS, result.Seed = rules.BytesPerToken, rules.JitterNS, rules.Seed
	result.DemandPeakBytes = demand.peakBytes
	result.TimeUnit = "ns"
	if rules.Mode == trace.Lifetimes {
		result.TimeUnit = "trace"
	}
	return result, nil
}

// tryLimit checks that the device can hold the limit at all. Otherwise requests would
// fail because of missing memory on the device, and the limit would seem to be the
// reason.
func tryLimit(e *engine.Engine, limitBytes uint64) error {
	size := e.RoundDown(limitBytes)
	if size == 0 {
		return nil
	}
	addr, err := e.Device().Alloc(size)
	if err != nil {
		return err
	}
	return e.Device().Free(addr, size)
}

// poolConfig returns the settings of the pool of a replay: one range, or growth up to
// the limit.
func poolConfig(o Options, rules trace.Rules, d demand) (pool.Config, error) {
	c := pool.DefaultConfig()
	c.Name, c.Strategy = "replay", o.Strategy
	if rangealloc.TraitsOf(o.Strategy).OneSize {
		if rules.Mode != trace.Paged {
			return c, device.Errorf(device.CodeInvalidArgument, op,
				"strategy %s has blocks of one size: it needs mode paged, and the mode is %s", o.Strategy, rules.Mode)
		}
		block := rules.BytesPerToken * trace.BlockTokens
		c.FixedBlockBytes = (block + c.AlignmentBytes - 1) / c.AlignmentBytes * c.AlignmentBytes
	}
	if o.LimitBytes > MaxRangeBytes {
		return c, device.Errorf(device.CodeInvalidArgument, op, "limit of %s is above the %s that can be replayed",
			device.FormatBytes(o.LimitBytes), device.FormatBytes(MaxRangeBytes))
	}
	if o.LimitBytes != 0 {
		c.MaxSizeBytes = o.LimitBytes
		if c.Paging = o.Paging; c.Paging != pool.PagingOff {
			c.PhysicalPageBytes = PageBytes
		}
		return c, nil
	}
	if d.peakBytes > MaxRangeBytes {
		return c, device.Errorf(device.CodeInvalidArgument, op,
			"the trace has %s live at one time, above the %s of addresses that can be replayed", device.FormatBytes(d.peakBytes), device.FormatBytes(MaxRangeBytes))
	}
	most := max(d.peakBytes, PageBytes)
	if rangealloc.TraitsOf(o.Strategy).Monotonic {
		most = max(d.totalBytes, PageBytes) // it reuses no memory
	}
	// The pool allocates the whole range now, because a smaller range gives other results.
	c.AutoExpansion, c.PreAlloc = false, true
	c.InitialSizeBytes = roundUpToPowerOfTwo(min(most, MaxRangeBytes/rangeFactor) * rangeFactor)
	c.Paging = o.Paging
	return c, nil
}

// withPages makes the pool of a replay without a limit map pages where blocks lie,
// unless paging is off or the device has no virtual memory. Its address space is then
// practically unlimited.
func withPages(e *engine.Engine, c pool.Config) pool.Config {
	if c.Paging == pool.PagingOff {
		return c
	}
	if _, err := e.VirtualMemory(); err != nil && c.Paging == pool.PagingAuto {
		c.Paging = pool.PagingOff
		return c
	}
	c.Paging, c.PhysicalPageBytes = pool.PagingOn, PageBytes
	c.AutoExpansion, c.PreAlloc = true, false
	return c
}

func roundUpToPowerOfTwo(n uint64) uint64 { return 1 << bits.Len64(n-1) }
