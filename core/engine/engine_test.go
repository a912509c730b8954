package engine

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/pressure"
	"ferrum_mem/core/track"
)

const mib = uint64(1) << 20

// counterPool is a pool that has counters and no memory.
type counterPool struct {
	mu       sync.Mutex
	name     string
	counters *track.Counters
}

func newCounterPool(t require.TestingT, e *Engine, name string) *counterPool {
	p := &counterPool{name: name, counters: track.NewCounters(true, e.Totals())}
	require.NoError(t, e.Register(p))
	return p
}

func (p *counterPool) change(fn func(*track.Counters)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fn(p.counters)
}

func (p *counterPool) Name() string   { return p.name }
func (p *counterPool) CompleteFrees() {}
func (p *counterPool) WaitForFlight(time.Duration) (bool, error) {
	return false, nil
}
func (p *counterPool) Flush() bool                          { return false }
func (p *counterPool) ReleaseCached(uint64) (uint64, error) { return 0, nil }
func (p *counterPool) Tags() []track.TagUse                 { return nil }
func (p *counterPool) Statistics() track.Statistics {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counters.Statistics()
}

func open(total uint64) (*devicetest.Device, *Engine) {
	dev := devicetest.Open(devicetest.Config{TotalBytes: total})
	return dev, New(dev, Options{})
}

func TestReserveGoesDownToTheLeast(t *testing.T) {
	dev, e := open(10 * mib)
	dev.SetOthersBytes(7 * mib)
	s, err := e.Reserve(Want{MinBytes: mib, PreferredBytes: 8 * mib})
	require.NoError(t, err)
	require.Equal(t, 2*mib, s.SizeBytes)
	_, err = e.Reserve(Want{MinBytes: 2 * mib, PreferredBytes: 8 * mib})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.NoError(t, e.Release(s))

	dev.SetOthersBytes(0)
	require.NoError(t, e.SetLimit(3*mib+5000))
	s, err = e.Reserve(Want{MinBytes: mib, PreferredBytes: 8 * mib})
	require.NoError(t, err)
	require.Equal(t, 3*mib+4096, s.SizeBytes, "cut to the limit, in whole granules")
	_, err = e.Reserve(Want{MinBytes: mib, PreferredBytes: mib})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.ErrorContains(t, err, "limit of the device is")
	require.NoError(t, e.Release(s))
	require.Zero(t, dev.HeldBytes())
	require.NoError(t, e.Close())
}

func TestReserveThatFailsIsNotCharged(t *testing.T) {
	dev, e := open(10 * mib)
	require.NoError(t, e.SetLimit(mib))
	for range 3 {
		dev.FailNth(devicetest.Alloc, 1, nil)
		_, err := e.Reserve(Want{MinBytes: mib, PreferredBytes: mib})
		require.ErrorIs(t, err, device.CodeDevice)
	}
	s, err := e.Reserve(Want{MinBytes: mib, PreferredBytes: mib})
	require.NoError(t, err)
	dev.FailNth(devicetest.Free, 1, nil)
	require.ErrorIs(t, e.Release(s), device.CodeDevice)
	_, err = e.Reserve(Want{MinBytes: mib, PreferredBytes: mib})
	require.ErrorIs(t, err, device.CodeOutOfMemory, "a segment that the device did not free stays counted")
	require.NoError(t, e.Release(s))
	require.NoError(t, e.Close())
}

func TestNeverFitsAndRounding(t *testing.T) {
	_, e := open(10 * mib)
	require.NoError(t, e.NeverFits(SourceDevice, "x", "size_bytes 7", 10*mib))
	require.ErrorContains(t, e.NeverFits(SourceDevice, "x", "size_bytes 7", 10*mib+1), "size_bytes 7 can never fit: that takes 10.00 MiB (10485761 bytes), the device has 10 MiB")
	require.NoError(t, e.SetLimit(5*mib))
	require.ErrorContains(t, e.NeverFits(SourceDevice, "x", "size_bytes 7", 5*mib+1), "limit of the device is 5 MiB")
	size, ok := e.RoundUp(4097)
	require.True(t, ok)
	require.EqualValues(t, 8192, size)
	_, ok = e.RoundUp(math.MaxUint64)
	require.False(t, ok)
	require.EqualValues(t, 4096, e.RoundDown(8191))
}

// The used, free and reserved bytes add up to the total, whatever the driver reports.
func TestMemoryInfoAlwaysAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dev, e := open(0)
		p := newCounterPool(t, e, "p")
		any64 := rapid.OneOf(rapid.Uint64Range(0, 1000), rapid.Uint64(), rapid.Just(uint64(math.MaxUint64)))
		reading := device.MemoryReading{TotalBytes: any64.Draw(t, "total"), FreeBytes: any64.Draw(t, "free")}
		dev.SetReading(&reading)
		require.NoError(t, e.SetLimit(any64.Draw(t, "limit")))
		usable := rapid.Uint64Range(1, 1000).Draw(t, "usable")
		active := rapid.Uint64Range(0, usable).Draw(t, "active")
		p.change(func(b *track.Counters) {
			b.AddSegment(track.Segment{UsableBytes: usable, UnusableBytes: 3})
			b.Alloc(track.Block{RequestedBytes: active, AllocatedBytes: active})
		})
		info, err := e.MemoryInfo()
		require.NoError(t, err)
		require.Equal(t, pressure.LevelOf(info.TotalBytes, info.FreeBytes), info.Pressure)
		if info.TotalBytes == 0 {
			require.Equal(t, active+3, info.UsedBytes)
			require.Zero(t, info.ReservedBytes)
			require.Equal(t, pressure.Low, info.Pressure)
			require.Zero(t, info.UtilizationPercent())
			return
		}
		require.Equal(t, info.TotalBytes, info.UsedBytes+info.FreeBytes+info.ReservedBytes)
		require.LessOrEqual(t, info.UsedBytes, info.TotalBytes)
		require.LessOrEqual(t, info.FreeBytes, info.TotalBytes)
		require.LessOrEqual(t, info.LargestFreeBytes, info.FreeBytes)
		require.InDelta(t, float64(info.UsedBytes)/float64(info.TotalBytes)*100, info.UtilizationPercent(), 1e-3)
	})
}

func TestMemoryInfoIsOfWhatTheLimitAllows(t *testing.T) {
	dev, e := open(100 * mib)
	dev.SetOthersBytes(10 * mib)
	require.NoError(t, e.SetLimit(30*mib))
	s, err := e.Reserve(Want{MinBytes: 20 * mib, PreferredBytes: 20 * mib})
	require.NoError(t, err)
	p := newCounterPool(t, e, "p")
	p.change(func(b *track.Counters) {
		b.AddSegment(track.Segment{UsableBytes: 20 * mib})
		b.Alloc(track.Block{RequestedBytes: 5 * mib, AllocatedBytes: 5 * mib})
	})
	info, err := e.MemoryInfo()
	require.NoError(t, err)
	require.Equal(t, MemoryInfo{TotalBytes: 30 * mib, UsedBytes: 5 * mib, FreeBytes: 25 * mib,
		ActiveAllocations: 1, LargestFreeBytes: 10 * mib, FragmentationRatio: 1, Pressure: pressure.Low,
		LimitBytes: 30 * mib, DeviceTotalBytes: 100 * mib, DeviceFreeBytes: 70 * mib}, info)
	require.NoError(t, e.Release(s))
	dev.FailNth(devicetest.Memory, 1, nil)
	_, err = e.MemoryInfo()
	require.ErrorIs(t, err, device.CodeDevice)
}

// The test device copies one byte per nanosecond of its own clock, which is 1 GB/s.
func TestBandwidthIsByTheDevicesClock(t *testing.T) {
	for _, total := range []uint64{256 * mib, 100 * mib, 3 * mib, 8192} {
		dev, e := open(total)
		info, err := e.MemoryInfo()
		require.NoError(t, err)
		require.Nil(t, info.BandwidthGBps)
		gbps, err := e.MeasureBandwidth()
		require.NoError(t, err, "%d", total)
		require.InDelta(t, 1, gbps, 0.01)
		info, err = e.MemoryInfo()
		require.NoError(t, err)
		require.InDelta(t, 1, *info.BandwidthGBps, 0.01)
		require.Zero(t, dev.HeldBytes())
		require.Zero(t, dev.OpenStreams()+dev.OpenEvents())
		require.NoError(t, e.Close())
	}
	_, e := open(4096)
	_, err := e.MeasureBandwidth()
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.NoError(t, e.Close())
}

func TestBandwidthGivesEverythingBackWhicheverCallFails(t *testing.T) {
	count, e := open(256 * mib)
	_, err := e.MeasureBandwidth()
	require.NoError(t, err)
	for n := 1; n <= count.Calls(devicetest.Any); n++ {
		dev, e := open(256 * mib)
		dev.FailNth(devicetest.Any, n, nil)
		if _, err := e.MeasureBandwidth(); err != nil {
			require.ErrorIs(t, err, device.CodeDevice)
			info, err := e.MemoryInfo()
			require.NoError(t, err)
			require.Nil(t, info.BandwidthGBps)
		}
		_, err := e.MeasureBandwidth()
		require.NoError(t, err)
		require.NoError(t, e.Close(), "call %d", n)
		require.Zero(t, dev.OpenEvents()+dev.Segments(), "call %d", n)
	}
}

func TestAnEngineInUseCannotBeClosed(t *testing.T) {
	dev, e := open(mib)
	p := newCounterPool(t, e, "p")
	err := e.Close()
	require.ErrorIs(t, err, device.CodeBusy)
	require.ErrorContains(t, err, "1 pool and 0 registrations")
	e.Unregister(p)
	r, err := e.OnPressure(func(pressure.Level) {})
	require.NoError(t, err)
	require.ErrorIs(t, e.Close(), device.CodeBusy)
	r.Remove(false)
	dev.FailNth(devicetest.DeviceClose, 1, nil)
	require.ErrorIs(t, e.Close(), device.CodeDevice)
	newCounterPool(t, e, "q")
	e.Unregister(e.Pools(nil)[0])
	require.NoError(t, e.Close())

	require.ErrorIs(t, e.Close(), device.CodeInvalidState)
	require.ErrorIs(t, e.Register(p), device.CodeInvalidState)
	require.ErrorIs(t, e.SetLimit(1), device.CodeInvalidState)
	_, err = e.OnPressure(func(pressure.Level) {})
	require.ErrorIs(t, err, device.CodeInvalidState)
	_, err = e.OnReclaim(ReclaimConfig{}, func(uint64) uint64 { return 0 })
	require.ErrorIs(t, err, device.CodeInvalidState)
	_, err = e.Reserve(Want{MinBytes: 4096, PreferredBytes: 4096})
	require.ErrorIs(t, err, device.CodeInvalidState)
}

// use changes the active bytes of the pool to percent of 100 MiB.
func (p *counterPool) use(e *Engine, percent uint64) {
	p.change(func(b *track.Counters) {
		active := b.Statistics().Active.Current
		if want := percent * mib; want > active {
			b.Alloc(track.Block{RequestedBytes: want - active, AllocatedBytes: want - active})
		} else {
			b.DeferFree(track.Block{RequestedBytes: active - want, AllocatedBytes: active - want})
			b.Deactivate(active - want)
		}
	})
	e.Changed()
}

func TestPressureCallbackRunsOnChangesOnly(t *testing.T) {
	_, e := open(100 * mib)
	p := newCounterPool(t, e, "p")
	s, err := e.Reserve(Want{MinBytes: 100 * mib, PreferredBytes: 100 * mib})
	require.NoError(t, err)
	p.change(func(b *track.Counters) { b.AddSegment(track.Segment{UsableBytes: 100 * mib}) })
	var heard []string
	first, err := e.OnPressure(func(l pressure.Level) { heard = append(heard, "1 "+l.String()) })
	require.NoError(t, err)
	for _, percent := range []uint64{10, 69, 70, 71, 69, 70, 96, 95, 94} {
		p.use(e, percent)
	}
	e.dispatcher.Flush()
	// The level falls at 69 %, because 69 % is 1 % below the bound of 70 %.
	require.Equal(t, []string{"1 medium", "1 low", "1 medium", "1 critical", "1 high"}, heard)

	heard = nil
	second, err := e.OnPressure(func(l pressure.Level) { heard = append(heard, "2 "+l.String()) })
	require.NoError(t, err)
	p.use(e, 20)
	e.dispatcher.Flush()
	require.Equal(t, []string{"1 low", "2 low"}, heard)
	first.Remove(false)
	first.Remove(false)
	p.use(e, 90)
	e.dispatcher.Flush()
	require.Equal(t, []string{"1 low", "2 low", "2 high"}, heard)
	second.Remove(false)
	p.use(e, 5)
	e.dispatcher.Flush()
	require.Len(t, heard, 3)
	require.NoError(t, e.Release(s))
}

func TestPressureSeesOthersWhenSegmentsChange(t *testing.T) {
	dev, e := open(100 * mib)
	heard := make(chan pressure.Level, 10)
	_, err := e.OnPressure(func(l pressure.Level) { heard <- l })
	require.NoError(t, err)
	dev.SetOthersBytes(90 * mib)
	e.SegmentsChanged()
	require.Equal(t, pressure.High, <-heard)
	require.NoError(t, e.SetLimit(mib))
	require.Equal(t, pressure.Low, <-heard, "the whole limit can be allocated")
	require.NoError(t, e.SetLimit(40*mib))
	require.Equal(t, pressure.Medium, <-heard, "other processes leave 10 of 40 MiB free")
	require.NoError(t, e.SetLimit(0))
	require.Equal(t, pressure.High, <-heard)
}

func TestRemoveWaitsForARunningCall(t *testing.T) {
	dev, e := open(100 * mib)
	started, hold := make(chan struct{}), make(chan struct{})
	r, err := e.OnPressure(func(pressure.Level) { close(started); <-hold })
	require.NoError(t, err)
	dev.SetOthersBytes(90 * mib)
	e.SegmentsChanged()
	<-started
	removed := device.Go("remove", func() { r.Remove(false) })
	// This removal does not wait: true states that the caller runs inside the callback.
	r.Remove(true)
	select {
	case <-removed:
		t.Fatal("removed while the call runs")
	default:
	}
	close(hold)
	<-removed
	require.NoError(t, e.Close())
}

func TestCallbackMayRemoveItselfAndCloseTheDevice(t *testing.T) {
	dev, e := open(100 * mib)
	var r *Registration
	ready, closed := make(chan struct{}), make(chan error)
	var err error
	r, err = e.OnPressure(func(pressure.Level) {
		<-ready
		r.Remove(true)
		closed <- e.Close()
	})
	require.NoError(t, err)
	dev.SetOthersBytes(90 * mib)
	e.SegmentsChanged()
	close(ready)
	require.NoError(t, <-closed)
}

func TestReclaimsAreInOrderOfPriority(t *testing.T) {
	_, e := open(mib)
	var order []string
	for i, priority := range []int32{5, -1, 5, 0} {
		_, err := e.OnReclaim(ReclaimConfig{Priority: priority}, func(needed uint64) uint64 {
			order = append(order, fmt.Sprint(i, " needs ", needed))
			return 0
		})
		require.NoError(t, err)
	}
	p := newCounterPool(t, e, "p")
	err := e.FindRoom(Need{Pool: p, Op: "x", SizeBytes: 7}, func() (bool, error) { return false, nil })
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.Equal(t, []string{"1 needs 7", "3 needs 7", "0 needs 7", "2 needs 7"}, order)
	_, err = e.OnReclaim(ReclaimConfig{Deadline: -1}, nil)
	require.ErrorIs(t, err, device.CodeInvalidArgument)
}

func TestRetryErrorEndsTheSearch(t *testing.T) {
	_, e := open(mib)
	p := newCounterPool(t, e, "p")
	asked := 0
	_, err := e.OnReclaim(ReclaimConfig{}, func(uint64) uint64 { asked++; return 0 })
	require.NoError(t, err)
	lost := device.Errorf(device.CodeDeviceLost, "x", "gone")
	err = e.FindRoom(Need{Pool: p, Op: "x", SizeBytes: 7}, func() (bool, error) { return false, lost })
	require.Equal(t, error(lost), err)
	require.Zero(t, asked)
}

// FindRoom waits for a callback until the deadline of the callback. It does not enter the
// same callback again while that call runs, and it goes on to the next callback.
func TestReclaimThatOverrunsItsDeadline(t *testing.T) {
	_, e := open(mib)
	p := newCounterPool(t, e, "p")
	hold := make(chan struct{})
	entered, second := 0, 0
	slow, err := e.OnReclaim(ReclaimConfig{Deadline: time.Millisecond}, func(uint64) uint64 {
		entered++
		<-hold
		return 0
	})
	require.NoError(t, err)
	_, err = e.OnReclaim(ReclaimConfig{Priority: 1, Deadline: time.Minute}, func(uint64) uint64 {
		second++
		return 0
	})
	require.NoError(t, err)
	for range 3 {
		err := e.FindRoom(Need{Pool: p, Op: "x", SizeBytes: 7}, func() (bool, error) { return false, nil })
		require.ErrorIs(t, err, device.CodeOutOfMemory)
	}
	require.Equal(t, 3, second)
	close(hold)
	slow.Remove(false)
	require.LessOrEqual(t, entered, 1, "calls without a waiting caller are skipped")
}
