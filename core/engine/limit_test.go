package engine

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pressure"
	"ferrum_mem/core/track"
)

const gib = 1024 * mib

// hold reserves a segment of size bytes. A live block takes active bytes of the segment.
func hold(t require.TestingT, e *Engine, p *counterPool, size, active uint64) Segment {
	s, err := e.Reserve(Want{MinBytes: size, PreferredBytes: size})
	require.NoError(t, err)
	p.change(func(b *track.Counters) {
		b.AddSegment(track.Segment{UsableBytes: size})
		b.Alloc(track.Block{RequestedBytes: active, AllocatedBytes: active})
	})
	e.Changed()
	e.SegmentsChanged()
	return s
}

func TestTotalIsTheLimit(t *testing.T) {
	_, e := open(24 * gib)
	p := newCounterPool(t, e, "p")
	require.NoError(t, e.SetLimit(gib))
	empty, err := e.MemoryInfo()
	require.NoError(t, err)
	require.Equal(t, MemoryInfo{
		TotalBytes: gib, FreeBytes: gib, LargestFreeBytes: gib, Pressure: pressure.Low,
		LimitBytes: gib, DeviceTotalBytes: 24 * gib, DeviceFreeBytes: 24 * gib,
	}, empty)
	hold(t, e, p, 640*mib, 640*mib)
	info, err := e.MemoryInfo()
	require.NoError(t, err)
	require.InDelta(t, 62.5, info.UtilizationPercent(), 0)
	require.Equal(t, MemoryInfo{
		TotalBytes: gib, UsedBytes: 640 * mib, FreeBytes: 384 * mib, ActiveAllocations: 1, LargestFreeBytes: 384 * mib,
		Pressure: pressure.Low, LimitBytes: gib, DeviceTotalBytes: 24 * gib, DeviceFreeBytes: 24*gib - 640*mib,
	}, info)
}

// MemoryInfo under a limit: the totals and the free bytes.
func TestMemoryInfoUnderALimit(t *testing.T) {
	for name, c := range map[string]struct {
		device, others, limit uint64
		held, active, lowered uint64
		// The expected bytes are in MiB.
		total, used, free, reserved uint64
		level                       pressure.Level
	}{
		"no limit":                           {device: 100, others: 10, held: 20, active: 5, total: 100, used: 5, free: 85, reserved: 10},
		"a limit above the device":           {device: 100, limit: 300, held: 20, active: 20, total: 100, used: 20, free: 80},
		"a limit at the device":              {device: 100, limit: 100, held: 20, active: 20, total: 100, used: 20, free: 80},
		"others leave less than the limit":   {device: 100, others: 70, limit: 40, held: 20, active: 20, total: 40, used: 20, free: 10, reserved: 10, level: pressure.Medium},
		"others leave nothing":               {device: 100, others: 80, limit: 40, held: 20, active: 10, total: 40, used: 10, free: 10, reserved: 20, level: pressure.Medium},
		"nothing held, others leave nothing": {device: 100, others: 100, limit: 40, total: 40, reserved: 40, level: pressure.Critical},
		"lowered below what is cached":       {device: 100, limit: 90, held: 50, active: 10, lowered: 30, total: 30, used: 10, free: 20},
		"lowered below what is live":         {device: 100, limit: 90, held: 50, active: 40, lowered: 30, total: 30, used: 30, level: pressure.Critical},
		"full":                               {device: 100, limit: 20, held: 20, active: 19, total: 20, used: 19, free: 1, level: pressure.Critical},
	} {
		dev, e := open(c.device * mib)
		dev.SetOthersBytes(c.others * mib)
		require.NoError(t, e.SetLimit(c.limit*mib), name)
		p := newCounterPool(t, e, "p")
		if c.held > 0 {
			hold(t, e, p, c.held*mib, c.active*mib)
		}
		limit := c.limit
		if c.lowered > 0 {
			limit = c.lowered
			require.NoError(t, e.SetLimit(limit*mib), name)
		}
		info, err := e.MemoryInfo()
		require.NoError(t, err)
		require.Equal(t, [4]uint64{c.total * mib, c.used * mib, c.free * mib, c.reserved * mib},
			[4]uint64{info.TotalBytes, info.UsedBytes, info.FreeBytes, info.ReservedBytes}, name)
		require.Equal(t, c.level, info.Pressure, name)
		require.Equal(t, [3]uint64{limit * mib, c.device * mib, (c.device - c.others - c.held) * mib},
			[3]uint64{info.LimitBytes, info.DeviceTotalBytes, info.DeviceFreeBytes}, name)
	}
}

// A device of unknown capacity has its limit as the total.
func TestTotalOfAnUnknownDeviceIsTheLimit(t *testing.T) {
	_, e := open(0)
	p := newCounterPool(t, e, "p")
	info, err := e.MemoryInfo()
	require.NoError(t, err)
	require.Equal(t, MemoryInfo{}, info)
	require.NoError(t, e.SetLimit(40*mib))
	hold(t, e, p, 10*mib, 10*mib)
	info, err = e.MemoryInfo()
	require.NoError(t, err)
	require.Equal(t, MemoryInfo{
		TotalBytes: 40 * mib, UsedBytes: 10 * mib, FreeBytes: 30 * mib, ActiveAllocations: 1, LargestFreeBytes: 30 * mib,
		LimitBytes: 40 * mib,
	}, info)
}

// The pressure level follows the limit, also when the limit changes while a callback is
// registered.
func TestPressureIsOfTheLimit(t *testing.T) {
	_, e := open(24 * gib)
	p := newCounterPool(t, e, "p")
	heard := make(chan pressure.Level, 10)
	_, err := e.OnPressure(func(l pressure.Level) { heard <- l })
	require.NoError(t, err)
	hold(t, e, p, 640*mib, 640*mib)
	for _, step := range []struct {
		limit uint64
		level pressure.Level
	}{{700 * mib, pressure.High}, {640 * mib, pressure.Critical}, {gib, pressure.Low}, {900 * mib, pressure.Medium}, {0, pressure.Low}} {
		require.NoError(t, e.SetLimit(step.limit))
		require.Equal(t, step.level, <-heard)
		level, kept := e.PressureLevel(pressure.Standard)
		require.True(t, kept)
		require.Equal(t, step.level, level)
	}
	e.dispatcher.Flush()
	require.Empty(t, heard)
}

// The test compares MemoryInfo with what can be allocated: it reserves memory until the
// device or the limit rejects a request. A reference model counts the held bytes MiB by
// MiB.
func TestWhatIsFreeUnderALimitCanBeTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Uint64Range(1, 60).Draw(t, "device")
		dev, e := open(size * mib)
		p := newCounterPool(t, e, "p")
		_, err := e.OnPressure(func(pressure.Level) {})
		require.NoError(t, err)
		others, limit, live, cached := uint64(0), uint64(0), uint64(0), uint64(0)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				others = rapid.Uint64Range(0, size-live-cached).Draw(t, "others")
				dev.SetOthersBytes(others * mib)
			case 1:
				limit = rapid.Uint64Range(0, 80).Draw(t, "limit")
				require.NoError(t, e.SetLimit(limit*mib))
			default:
				want := rapid.Uint64Range(1, 20).Draw(t, "size")
				active := rapid.Uint64Range(0, want).Draw(t, "active")
				_, err := e.Reserve(Want{MinBytes: want * mib, PreferredBytes: want * mib})
				// The reference model adds one MiB at a time.
				fits := true
				for taken := range want {
					held := live + cached + taken
					fits = fits && held+others < size && (limit == 0 || held < limit)
				}
				require.Equal(t, fits, err == nil)
				if fits {
					live, cached = live+active, cached+want-active
					p.change(func(b *track.Counters) {
						b.AddSegment(track.Segment{UsableBytes: want * mib})
						b.Alloc(track.Block{RequestedBytes: active * mib, AllocatedBytes: active * mib})
					})
				}
			}
			e.SegmentsChanged()
			checkUnderLimit(t, e, size, others, limit, live, cached)
		}
	})
}

// checkUnderLimit compares MemoryInfo with the reference model. Its arguments are in MiB.
func checkUnderLimit(t *rapid.T, e *Engine, size, others, limit, live, cached uint64) {
	info, err := e.MemoryInfo()
	require.NoError(t, err)
	var mine []Segment
	for {
		s, err := e.Reserve(Want{MinBytes: mib, PreferredBytes: mib})
		if err != nil {
			require.ErrorIs(t, err, device.CodeOutOfMemory)
			break
		}
		mine = append(mine, s)
	}
	for _, s := range mine {
		require.NoError(t, e.Release(s))
	}
	whole := size
	if limit > 0 && limit < size {
		whole = limit
	}
	used, free := live, uint64(len(mine))+cached
	for used > whole {
		used--
	}
	for used+free > whole {
		free--
	}
	require.Equal(t, whole*mib, info.TotalBytes)
	require.Equal(t, used*mib, info.UsedBytes)
	require.Equal(t, free*mib, info.FreeBytes)
	require.Equal(t, (whole-used-free)*mib, info.ReservedBytes)
	require.Equal(t, [3]uint64{limit * mib, size * mib, (size - others - live - cached) * mib},
		[3]uint64{info.LimitBytes, info.DeviceTotalBytes, info.DeviceFreeBytes})
	percent := slices.Index([]bool{100*(whole-free) < 70*whole, 100*(whole-free) < 85*whole, 100*(whole-free) < 95*whole, true}, true)
	require.Equal(t, pressure.Level(percent), info.Pressure)
	// The kept level has hysteresis: it falls only 1 % below its bound.
	kept, _ := e.PressureLevel(pressure.Standard)
	require.GreaterOrEqual(t, kept, info.Pressure)
	if kept > info.Pressure {
		bound := []uint64{0, 70, 85, 95}[kept]
		require.Greater(t, 100*(whole-free), (bound-1)*whole)
	}
	recent, err := e.RecentMemoryInfo(math.MaxInt64)
	require.NoError(t, err)
	recent.ReadingAge = 0
	require.Equal(t, info, recent)
}
