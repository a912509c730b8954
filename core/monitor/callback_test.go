package monitor

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pressure"
)

// plainLevel returns the level for a use in eighths of a percent. It implements the rules
// of the public header: a level starts when the use reaches its bound, and ends when the
// use has fallen to 1 % below the bound. It shares only the names with the package
// pressure, so it can serve as the reference model.
func plainLevel(profile pressure.Profile, present pressure.Level, eighths uint64) pressure.Level {
	medium, high, critical := uint64(8*70), uint64(8*85), uint64(8*95)
	if profile == pressure.Early {
		medium, high = 8*60, 8*80
	}
	switch {
	case eighths >= critical, present == pressure.Critical && eighths > critical-8:
		return pressure.Critical
	case eighths >= high, present >= pressure.High && eighths > high-8:
		return pressure.High
	case eighths >= medium, present >= pressure.Medium && eighths > medium-8:
		return pressure.Medium
	}
	return pressure.Low
}

// The callback receives every change of level of every device, in order and once, and
// nothing else. The reference model has the rules written out.
func TestCallbackAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 3).Draw(t, "devices")
		profile := rapid.SampledFrom([]pressure.Profile{pressure.Standard, pressure.Early}).Draw(t, "profile")
		f := newFloor(t, count, 100*mib)
		m := newMonitor(t, Config{Profile: profile})
		managers := make([]*manager.Manager, count)
		for i := range count {
			managers[i] = f.manager(i)
		}
		var heard, want [][]pressure.Level
		require.NoError(t, m.SetCallback(func(levels []DeviceLevel) { heard = append(heard, levelsOf(levels)) }, false))
		registered := []int{}
		levels := make([]pressure.Level, count)
		eighths := make([]uint64, count)
		tell := func() {
			now := []pressure.Level(nil)
			for _, i := range registered {
				now = append(now, levels[i])
			}
			if last := len(want) - 1; last >= 0 && slices.Equal(want[last], now) {
				return
			}
			want = append(want, now)
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			i := rapid.IntRange(0, count-1).Draw(t, "device")
			at := slices.Index(registered, i)
			switch rapid.IntRange(0, 7).Draw(t, "step") {
			case 0:
				if at < 0 {
					require.NoError(t, m.Register(managers[i]))
					levels[i] = plainLevel(profile, pressure.Low, eighths[i])
					registered = append(registered, i)
					tell()
				}
			case 1:
				if at >= 0 {
					require.NoError(t, m.Unregister(managers[i]))
					registered = slices.Delete(registered, at, at+1)
					tell()
				}
			default:
				eighths[i] = rapid.Uint64Range(8*50, 8*100).Draw(t, "eighths")
				if rapid.Bool().Draw(t, "near") {
					bound := rapid.SampledFrom([]uint64{60, 70, 80, 85, 95}).Draw(t, "bound")
					eighths[i] = rapid.Uint64Range(8*bound-9, 8*bound+1).Draw(t, "eighths near a bound")
				}
				f.useBytes(i, eighths[i]*mib/8)
				if at >= 0 {
					levels[i] = plainLevel(profile, levels[i], eighths[i])
					if len(want) > 0 {
						tell()
					}
				}
			}
			// The engine reports a level on its own worker. The test waits for the report
			// before the next step, so the order between devices is fixed.
			for n, info := range m.Info(time.Hour) {
				require.Equal(t, levels[registered[n]], info.ByBytes)
			}
			settle(t, m, levels, registered)
		}
		m.dispatcher.Flush()
		m.Close(false)
		require.Equal(t, want, heard)
		f.close()
	})
}

// settle waits until the monitor has received the levels that the engines reported.
func settle(t require.TestingT, m *Monitor, levels []pressure.Level, registered []int) {
	for patience := time.Now().Add(time.Minute); time.Now().Before(patience); runtime.Gosched() {
		m.mu.Lock()
		same := true
		for n, w := range m.watched {
			same = same && w.bytes == levels[registered[n]]
		}
		m.mu.Unlock()
		if same {
			return
		}
	}
	require.Fail(t, "the event of the engine did not arrive")
}

func TestCallbackThatPanicsIsCalledAgain(t *testing.T) {
	f := newFloor(t, 1, 100*mib)
	logged := make(chan string, 8)
	m := newMonitor(t, Config{Log: func(level engine.Level, message string) {
		if level == engine.Error {
			logged <- message
		}
	}})
	require.NoError(t, m.Register(f.manager(0)))
	calls := make(chan int, 8)
	n := 0
	require.NoError(t, m.SetCallback(func([]DeviceLevel) {
		n++
		calls <- n
		if n == 1 {
			panic("broken")
		}
	}, false))
	f.use(0, 90)
	require.Equal(t, 1, <-calls)
	require.Contains(t, <-logged, "the pressure callback panicked: broken")
	f.use(0, 10)
	require.Equal(t, 2, <-calls)
	m.Close(false)
	f.close()
}

// The callback may call everything. It may also remove itself and close its managers and
// the monitor.
func TestCallbackMayCallEverything(t *testing.T) {
	f := newFloor(t, 2, 100*mib)
	m := newMonitor(t, Config{})
	mine, other := f.manager(0), f.manager(1)
	require.NoError(t, m.Register(mine))
	done := make(chan error, 1)
	require.NoError(t, m.SetCallback(func([]DeviceLevel) {
		var err error
		_, failed := m.Collect()
		err = errors.Join(err, failed, m.Register(other), m.Unregister(other))
		m.Info(0)
		err = errors.Join(err, m.SetCallback(nil, true), mine.Close(true))
		m.Close(true)
		done <- err
	}, false))
	f.use(0, 90)
	require.NoError(t, <-done)
	require.Zero(t, m.Managers())
	f.close()
}

func TestReplacingACallbackWaitsForIt(t *testing.T) {
	f := newFloor(t, 1, 100*mib)
	m := newMonitor(t, Config{})
	require.NoError(t, m.Register(f.manager(0)))
	entered, hold := make(chan struct{}), make(chan struct{})
	require.NoError(t, m.SetCallback(func([]DeviceLevel) { close(entered); <-hold }, false))
	f.use(0, 90)
	<-entered
	heard := make(chan []DeviceLevel, 8)
	replaced := device.Go("replace", func() {
		if m.SetCallback(func(l []DeviceLevel) { heard <- l }, false) != nil {
			panic("not replaced")
		}
	})
	select {
	case <-replaced:
		t.Fatal("replaced while the call runs")
	default:
	}
	close(hold)
	<-replaced
	f.use(0, 99)
	require.Equal(t, []pressure.Level{pressure.Critical}, levelsOf(<-heard))
	m.Close(false)
	f.close()
}

func TestAFloodKeepsTheLastState(t *testing.T) {
	f := newFloor(t, 1, 100*mib)
	warned := make(chan string, 8)
	m := newMonitor(t, Config{Log: func(_ engine.Level, message string) { warned <- message }})
	require.NoError(t, m.Register(f.manager(0)))
	entered, hold := make(chan struct{}), make(chan struct{})
	var heard []pressure.Level
	var once sync.Once
	require.NoError(t, m.SetCallback(func(l []DeviceLevel) {
		once.Do(func() { close(entered); <-hold })
		heard = append(heard, l[0].Level)
	}, false))
	w := m.watched[0]
	m.levelChanged(w, pressure.High)
	<-entered
	for i := range 2*pendingLevels + 3 {
		m.levelChanged(w, pressure.Level(i%2))
	}
	m.levelChanged(w, pressure.Critical)
	close(hold)
	require.Contains(t, <-warned, "level changes were not reported")
	m.dispatcher.Flush()
	require.Len(t, heard, pendingLevels+1)
	require.Equal(t, pressure.Critical, heard[len(heard)-1])
	m.Close(false)
	f.close()
}
