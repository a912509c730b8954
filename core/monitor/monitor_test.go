package monitor

import (
	"errors"
	"math"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/pressure"
)

const mib = uint64(1) << 20

// The tests of this package use real managers over test devices. The test sets the bytes
// that other programs use, and thereby the level. Some tests close a manager at the worst
// moment. The devices report the system pressure that the test sets.

// pressed is a test device that also reports system pressure.
type pressed struct {
	*devicetest.Device
	mu      sync.Mutex
	reading device.SystemPressure
}

func (p *pressed) SystemPressure() device.SystemPressure {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reading
}

func (p *pressed) stall(full uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reading.Machine.Stalls.Full.Avg10 = full
}

// floor is a group of devices with their engines and a manager factory. Most tests use
// devices of 100 MiB.
type floor struct {
	t       require.TestingT
	factory *manager.Factory
	devices []*devicetest.Device
	engines []*engine.Engine
	pressed []*pressed
}

func newFloor(t require.TestingT, count int, total uint64) *floor {
	driver := devicetest.New(devicetest.Config{Devices: count, TotalBytes: total})
	f := &floor{t: t, factory: manager.NewFactory()}
	for i := range count {
		opened, err := driver.Open(i)
		require.NoError(t, err)
		dev := opened.(*devicetest.Device)
		p := &pressed{Device: dev}
		f.devices = append(f.devices, dev)
		f.pressed = append(f.pressed, p)
		f.engines = append(f.engines, engine.New(p, engine.Options{}))
	}
	return f
}

func (f *floor) manager(index int) *manager.Manager {
	c := manager.DefaultConfig()
	small := pool.DefaultConfig()
	small.InitialSizeBytes, small.GrowthIncrementBytes = mib, mib
	c.PoolConfigs[manager.General] = small
	m, err := f.factory.CreateMemoryManager(f.engines[index], c)
	require.NoError(f.t, err)
	return m
}

// close closes all devices. Engine.Close fails while anything is registered with it.
func (f *floor) close() {
	for _, e := range f.engines {
		_, err := f.factory.CloseDevice(e, true)
		require.NoError(f.t, err)
		require.NoError(f.t, e.Close())
	}
}

// use sets the use of a device by other programs to percent of 100 MiB, and makes the
// engine read the device.
func (f *floor) use(index int, percent uint64) {
	f.useBytes(index, percent*mib)
}

func (f *floor) useBytes(index int, bytes uint64) {
	f.devices[index].SetOthersBytes(bytes)
	f.engines[index].SegmentsChanged()
}

func newMonitor(t require.TestingT, c Config) *Monitor {
	if c.Interval == 0 {
		c.Interval = -1
	}
	m, err := New(c)
	require.NoError(t, err)
	return m
}

func levelsOf(levels []DeviceLevel) []pressure.Level {
	var list []pressure.Level
	for _, l := range levels {
		list = append(list, l.Level)
	}
	return list
}

func TestInfoOfEveryDevice(t *testing.T) {
	f := newFloor(t, 3, 100*mib)
	m := newMonitor(t, Config{})
	first, second, other := f.manager(0), f.manager(0), f.manager(2)
	for _, added := range []*manager.Manager{first, second, other} {
		require.NoError(t, m.Register(added))
	}
	require.Equal(t, 3, m.Managers())
	f.devices[2].SetOthersBytes(85 * mib)
	infos := m.Info(0)
	require.Len(t, infos, 2, "a device is listed once")
	require.Equal(t, device.ID{Backend: "test", Index: 0}, infos[0].Device)
	require.Equal(t, 2, infos[0].Managers)
	require.Equal(t, 100*mib, infos[0].Memory.FreeBytes)
	require.Equal(t, pressure.High, infos[1].Level)
	require.Equal(t, Summary{
		Level: pressure.High, WeightedLevel: pressure.Low, Devices: 2, TotalBytes: 200 * mib, UsedBytes: 85 * mib,
	}, m.Pressure(0))
	f.devices[2].SetOthersBytes(0)
	require.Equal(t, pressure.High, m.Pressure(time.Hour).Level, "the level is that of the earlier reading")
	require.Equal(t, pressure.Low, m.Pressure(0).Level)
	m.Close(false)
	f.close()
}

func TestADeviceThatCannotBeAskedKeepsItsLastInformation(t *testing.T) {
	f := newFloor(t, 2, 100*mib)
	m := newMonitor(t, Config{})
	require.NoError(t, m.Register(f.manager(0)))
	require.NoError(t, m.Register(f.manager(1)))
	f.devices[0].FailNth(devicetest.Memory, 1, nil)
	infos := m.Info(0)
	require.ErrorIs(t, infos[0].Err, device.CodeDevice)
	require.False(t, infos[0].Known)
	require.NoError(t, infos[1].Err)
	require.Equal(t, 1, m.Summarize(infos).Unknown)
	f.devices[0].SetOthersBytes(96 * mib)
	require.Equal(t, pressure.Critical, m.Pressure(0).Level)
	f.devices[0].FailNth(devicetest.Memory, 1, nil)
	infos = m.Info(0)
	require.ErrorIs(t, infos[0].Err, device.CodeDevice)
	require.True(t, infos[0].Known)
	require.Equal(t, pressure.Critical, infos[0].Level)
	require.Equal(t, 4*mib, infos[0].Memory.FreeBytes)
	m.Close(false)
	f.close()
}

func TestUnknownCapacityIsReported(t *testing.T) {
	f := newFloor(t, 1, 0)
	m := newMonitor(t, Config{})
	require.NoError(t, m.Register(f.manager(0)))
	require.Equal(t, Summary{Devices: 1, Unknown: 1}, m.Pressure(0))
	m.Close(false)
	f.close()
}

func TestSumsBeyondSixtyFourBits(t *testing.T) {
	f := newFloor(t, 3, math.MaxUint64)
	m := newMonitor(t, Config{})
	for i := range 3 {
		require.NoError(t, m.Register(f.manager(i)))
		f.devices[i].SetOthersBytes(math.MaxUint64 / 10 * 9)
	}
	s := m.Pressure(0)
	require.Equal(t, uint64(math.MaxUint64), s.TotalBytes)
	require.Equal(t, uint64(math.MaxUint64), s.UsedBytes)
	require.Equal(t, pressure.High, s.WeightedLevel)
	m.Close(false)
	f.close()
}

func TestRegistrationErrors(t *testing.T) {
	_, err := New(Config{Profile: 5})
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	f := newFloor(t, 1, 100*mib)
	m := newMonitor(t, Config{})
	mine, gone := f.manager(0), f.manager(0)
	require.NoError(t, m.Register(mine))
	require.ErrorIs(t, m.Register(mine), device.CodeAlreadyExists)
	require.NoError(t, gone.Close(false))
	require.ErrorIs(t, m.Register(gone), device.CodeInvalidHandle)
	require.ErrorIs(t, m.Unregister(gone), device.CodeNotFound)
	require.NoError(t, m.Unregister(mine))
	require.ErrorIs(t, m.UnregisterDevice(f.engines[0]), device.CodeNotFound)
	require.NoError(t, m.Register(mine))
	require.NoError(t, m.Register(f.manager(0)))
	require.NoError(t, m.UnregisterDevice(f.engines[0]))
	require.Zero(t, m.Managers())
	m.Close(false)
	m.Close(false)
	require.ErrorIs(t, m.Register(mine), device.CodeInvalidState)
	require.ErrorIs(t, m.SetCallback(func([]DeviceLevel) {}, false), device.CodeInvalidState)
	f.close()
}

// A manager that is closed leaves the monitor by itself. The monitor does not prevent the
// close of a device.
func TestClosedManagerIsUnregistered(t *testing.T) {
	f := newFloor(t, 2, 100*mib)
	m := newMonitor(t, Config{})
	heard := make(chan []DeviceLevel, 8)
	require.NoError(t, m.SetCallback(func(levels []DeviceLevel) { heard <- levels }, false))
	first, second := f.manager(0), f.manager(1)
	require.NoError(t, m.Register(first))
	require.Len(t, <-heard, 1, "a new device is a change")
	require.NoError(t, m.Register(second))
	require.Len(t, <-heard, 2)
	require.NoError(t, first.Close(false))
	require.Equal(t, 1, m.Managers())
	require.Equal(t, f.engines[1].ID(), (<-heard)[0].Device)
	_, err := f.factory.CloseDevice(f.engines[0], false)
	require.NoError(t, err)
	require.NoError(t, f.engines[0].Close())
	m.Close(false)
	require.NoError(t, second.Close(false))
	f.engines = f.engines[1:]
	f.close()
}

// vanishing is a manager that is closed at the start of its defragmentation.
type vanishing struct{ *manager.Manager }

func (v *vanishing) Defragment() (manager.DefragmentationStats, error) {
	if err := v.Close(true); err != nil {
		return manager.DefragmentationStats{}, err
	}
	return v.Manager.Defragment()
}

func TestManagerClosedDuringACollectionIsSkipped(t *testing.T) {
	f := newFloor(t, 3, 100*mib)
	m := newMonitor(t, Config{})
	require.NoError(t, m.Register(f.manager(0)))
	require.NoError(t, m.Register(&vanishing{f.manager(1)}))
	stays := f.manager(2)
	require.NoError(t, m.Register(stays))
	h, err := stays.Alloc(mib / 2)
	require.NoError(t, err)
	require.NoError(t, f.factory.Free(h))
	done, err := m.Collect()
	require.NoError(t, err)
	require.Len(t, done, 2)
	require.Equal(t, f.engines[2].ID(), done[1].Device)
	require.GreaterOrEqual(t, done[1].Stats.MemoryFreedBytes, mib)
	require.Equal(t, 2, m.Managers())
	m.Close(false)
	f.close()
}

// failing is a manager whose defragmentation fails.
type failing struct{ *manager.Manager }

func (failing) Defragment() (manager.DefragmentationStats, error) {
	return manager.DefragmentationStats{MemoryFreedBytes: 7}, device.Errorf(device.CodeDevice, "test", "broken")
}

func TestCollectionContinuesAfterAFailure(t *testing.T) {
	f := newFloor(t, 2, 100*mib)
	m := newMonitor(t, Config{})
	require.NoError(t, m.Register(failing{f.manager(0)}))
	require.NoError(t, m.Register(f.manager(0)))
	require.NoError(t, m.Register(f.manager(1)))
	done, err := m.Collect()
	require.ErrorIs(t, err, device.CodeDevice)
	require.Len(t, done, 2)
	require.Equal(t, 2, done[0].Managers)
	require.ErrorIs(t, done[0].Err, device.CodeDevice)
	require.EqualValues(t, 7, done[0].Stats.MemoryFreedBytes)
	require.NoError(t, done[1].Err)
	m.Close(false)
	f.close()
}

func TestSystemPressureRaisesTheLevel(t *testing.T) {
	f := newFloor(t, 1, 100*mib)
	ticks := make(chan time.Time)
	ended := make(chan struct{})
	m := newMonitor(t, Config{Interval: time.Hour, Ticks: func(every time.Duration) (<-chan time.Time, func()) {
		require.Equal(t, time.Hour, every)
		return ticks, func() { close(ended) }
	}})
	heard := make(chan []DeviceLevel, 8)
	require.NoError(t, m.Register(f.manager(0)))
	require.NoError(t, m.SetCallback(func(levels []DeviceLevel) { heard <- levels }, false))
	f.pressed[0].stall(1000)
	ticks <- time.Time{}
	require.Equal(t, []pressure.Level{pressure.High}, levelsOf(<-heard))
	info := m.Info(time.Hour)[0]
	require.Equal(t, []pressure.Level{pressure.High, pressure.Low, pressure.High},
		[]pressure.Level{info.Level, info.ByBytes, info.BySystem})
	require.EqualValues(t, 1000, info.System.Machine.Stalls.Full.Avg10)
	f.devices[0].SetOthersBytes(99 * mib)
	ticks <- time.Time{}
	require.Equal(t, []pressure.Level{pressure.Critical}, levelsOf(<-heard))
	f.pressed[0].stall(0)
	require.Equal(t, pressure.Low, m.Info(0)[0].BySystem)
	f.devices[0].SetOthersBytes(0)
	ticks <- time.Time{}
	require.Equal(t, []pressure.Level{pressure.Low}, levelsOf(<-heard))
	require.NoError(t, m.SetCallback(nil, false))
	<-ended
	require.Empty(t, heard)
	m.Close(false)
	f.close()
}

func TestTheSystemCanBeIgnored(t *testing.T) {
	f := newFloor(t, 1, 100*mib)
	m := newMonitor(t, Config{IgnoreSystem: true})
	f.pressed[0].stall(10000)
	require.NoError(t, m.Register(f.manager(0)))
	info := m.Info(0)[0]
	require.Nil(t, info.System)
	require.Equal(t, pressure.Low, info.Level)
	m.Close(false)
	f.close()
}

// The sum over managers includes every field of DefragmentationStats.
func TestCollectedAddsEveryNumber(t *testing.T) {
	var one manager.DefragmentationStats
	set := func(v reflect.Value) {
		for i := range v.NumField() {
			switch field := v.Field(i); field.Kind() {
			case reflect.Uint64:
				field.SetUint(uint64(i + 1))
			case reflect.Float32:
				field.SetFloat(float64(i) / 10)
			case reflect.Bool:
				field.SetBool(true)
			}
		}
	}
	set(reflect.ValueOf(&one).Elem())
	set(reflect.ValueOf(&one.Skipped).Elem())
	var c Collected
	c.add(one)
	require.Equal(t, one, c.Stats)
	c.add(one)
	require.Equal(t, 2*one.BytesMoved, c.Stats.BytesMoved)
	require.Equal(t, one.FragmentationAfter, c.Stats.FragmentationAfter)
}

func TestThreadsRegisterAndReadAMonitorAtOnce(t *testing.T) {
	f := newFloor(t, 3, 100*mib)
	m := newMonitor(t, Config{})
	var wait sync.WaitGroup
	for n := range 16 {
		wait.Go(func() {
			for step := range 60 {
				switch (n + step) % 6 {
				case 0:
					mine := f.manager(n % 3)
					if m.Register(mine) != nil {
						panic("not registered")
					}
					// The other threads may hold all memory at this time.
					_, err := mine.Alloc(uint64(step+1) << 12)
					if err != nil && !errors.Is(err, device.CodeOutOfMemory) {
						panic(err)
					}
					if err := mine.Close(true); err != nil {
						panic(err)
					}
				case 1:
					m.Info(time.Duration(step%2) * time.Hour)
				case 2:
					_, _ = m.Collect()
				case 3:
					_ = m.SetCallback(func(levels []DeviceLevel) { _ = levelsOf(levels) }, false)
				case 4:
					_ = m.SetCallback(nil, false)
				case 5:
					f.use(n%3, uint64(step*7%100))
					m.Look()
				}
			}
		})
	}
	wait.Wait()
	require.Zero(t, m.Managers())
	m.Close(false)
	f.close()
}

// watching registers that many managers with a monitor and removes them. It returns the
// allocated bytes.
func watching(t *testing.T, managers int) uint64 {
	t.Helper()
	f := newFloor(t, 1, 1000*mib)
	m := newMonitor(t, Config{})
	made := make([]*manager.Manager, managers)
	for i := range made {
		made[i] = f.manager(0)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, added := range made {
		require.NoError(t, m.Register(added))
	}
	for i := range made {
		gone := made[(i*7919)%managers]
		if i%2 == 0 {
			require.NoError(t, m.Unregister(gone))
		}
		require.NoError(t, gone.Close(false))
	}
	runtime.ReadMemStats(&after)
	require.Zero(t, m.Managers())
	m.Close(false)
	f.close()
	return after.TotalAlloc - before.TotalAlloc
}

// TestAddingAndRemovingManagersCostsLinearWork tests that adding or removing a manager does
// not copy the list of watched managers.
func TestAddingAndRemovingManagersCostsLinearWork(t *testing.T) {
	const few = 1000
	bytes := watching(t, few)
	require.Less(t, watching(t, 2*few), 3*bytes)
}
