package cuda

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/drivers/internal/gpu/events"
)

// A closed event is reused for the next record, even if a stream still waits for its
// earlier record.
func TestClosedEventsAreReused(t *testing.T) {
	o, sim := open(t, 0), newSimulator(t)
	from, err := o.NewStream()
	require.NoError(t, err)
	to, err := o.NewStream()
	require.NoError(t, err)
	release := blocked(t, from)
	defer release()
	first, err := from.RecordEvent()
	require.NoError(t, err)
	require.NoError(t, to.WaitEvent(first))
	handle := first.(*event).handle
	require.NoError(t, first.Close())
	second, err := o.DefaultStream().RecordEvent()
	require.NoError(t, err)
	require.Equal(t, handle, second.(*event).handle)
	require.NoError(t, second.Synchronize(device.Forever))
	idle, err := to.Idle()
	require.NoError(t, err)
	require.False(t, idle, "the stream waits for the first record")
	_, err = first.Done()
	requireCode(t, device.CodeInvalidState, err)
	release()
	require.NoError(t, to.Synchronize(device.Forever))
	require.NoError(t, second.Close())
	require.NoError(t, from.Close())
	require.NoError(t, to.Close())
	require.NoError(t, o.Close())
	sim.clean()
}

// The device keeps at most the bounded number of spare events. It keeps none after it was
// closed.
func TestSpareEventsAreBounded(t *testing.T) {
	o, sim := open(t, 0), newSimulator(t)
	made := make([]device.Event, events.Most+10)
	for i := range made {
		var err error
		made[i], err = o.DefaultStream().RecordEvent()
		require.NoError(t, err)
	}
	calls := sim.callsOf(func() {
		for _, e := range made {
			require.NoError(t, e.Close())
		}
	})
	require.Equal(t, 10, calls["cuEventDestroy_v2"])
	late, err := o.DefaultStream().RecordEvent()
	require.NoError(t, err)
	require.Equal(t, events.Most, sim.callsOf(func() { require.NoError(t, o.Close()) })["cuEventDestroy_v2"])
	require.NoError(t, late.Close())
	sim.clean()
}

// An event that cannot be recorded is kept for the next attempt.
func TestEventsAreKeptWhenARecordFails(t *testing.T) {
	o, sim := open(t, 0), newSimulator(t)
	sim.fault("cuEventRecord", 1, resultOutOfMemory)
	_, err := o.DefaultStream().RecordEvent()
	require.Contains(t, requireCode(t, device.CodeOutOfMemory, err).Message, "cuEventRecord")
	made := sim.callsOf(func() {
		e, err := o.DefaultStream().RecordEvent()
		require.NoError(t, err)
		require.NoError(t, e.Close())
	})
	require.Zero(t, made["cuEventCreate"])
	require.NoError(t, o.Close())
	sim.clean()
}

// Many threads record, wait for and close events. Two threads never use the same native
// event at the same time.
func TestThreadsNeverShareASpareEvent(t *testing.T) {
	o, sim := open(t, 0), newSimulator(t)
	var mu sync.Mutex
	used := map[uintptr]bool{}
	var all sync.WaitGroup
	for number := range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 200 {
				e, err := o.DefaultStream().(*stream).record("test", number%2 == 0)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if used[e.handle] {
					t.Errorf("event %#x is used twice", e.handle)
				}
				used[e.handle] = true
				mu.Unlock()
				_, done := e.Done()
				mu.Lock()
				delete(used, e.handle)
				mu.Unlock()
				if closed := e.Close(); done != nil || closed != nil {
					t.Error(done, closed)
				}
			}
		}()
	}
	all.Wait()
	require.NoError(t, o.Close())
	sim.clean()
}

// The time between two events can be measured with every generation of the driver. It is at
// least the time that host functions between the events measured, and at most the time that
// host functions around them measured.
func TestTheTimeBetweenEventsCoversTheWorkBetween(t *testing.T) {
	for _, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			if alone(t, envLibrary+"="+simulated(generation)) {
				timeBetweenEvents(t, open(t, 0), open(t, 1))
				newSimulator(t).clean()
			}
		})
	}
}

func timeBetweenEvents(t *testing.T, o, other *openDevice) {
	s := o.DefaultStream()
	timed := func(s device.Stream) device.Event {
		e, err := device.RecordTimed(s)
		require.NoError(t, err)
		return e
	}
	var first, last time.Time
	before := time.Now()
	start := timed(s)
	require.NoError(t, s.HostFunction(func() { first = time.Now() }))
	release := blocked(t, s)
	require.NoError(t, s.HostFunction(func() { last = time.Now() }))
	end := timed(s)
	_, err := device.Elapsed(start, end)
	requireCode(t, device.CodeInvalidState, err)
	release()
	require.NoError(t, end.Synchronize(device.Forever))
	around := time.Since(before)
	elapsed, err := device.Elapsed(start, end)
	require.NoError(t, err)
	// The driver returns a single-precision number, whose mantissa has 24 bits.
	rounding := around/(1<<23) + 2
	require.GreaterOrEqual(t, elapsed+rounding, last.Sub(first))
	require.LessOrEqual(t, elapsed-rounding, around)
	back, err := device.Elapsed(end, start)
	require.NoError(t, err)
	require.InDelta(t, -elapsed, back, float64(rounding))
	none, err := device.Elapsed(end, end)
	require.NoError(t, err)
	require.Zero(t, none)

	plain, err := s.RecordEvent()
	require.NoError(t, err)
	far := timed(other.DefaultStream())
	require.NoError(t, far.Synchronize(device.Forever))
	for _, wrong := range []device.Event{plain, far, foreignEvent{}, nil} {
		_, err = device.Elapsed(wrong, end)
		requireCode(t, device.CodeInvalidArgument, err)
	}
	_, err = device.Elapsed(end, plain)
	requireCode(t, device.CodeInvalidArgument, err)
	_, err = end.PassedAt()
	requireCode(t, device.CodeUnsupported, err)
	require.NoError(t, start.Close())
	for _, pair := range [][2]device.Event{{start, end}, {end, start}} {
		_, err = device.Elapsed(pair[0], pair[1])
		requireCode(t, device.CodeInvalidState, err)
	}
	require.NoError(t, end.Close())
	require.NoError(t, other.Close())
	require.NoError(t, plain.Close())
	require.NoError(t, o.Close())
	require.NoError(t, far.Close())
}

func TestTimeOfAnEventIsUnsupported(t *testing.T) {
	o, sim := open(t, 0), newSimulator(t)
	var events [2]device.Event
	for i := range events {
		var err error
		events[i], err = device.RecordTimed(o.DefaultStream())
		require.NoError(t, err)
		require.NoError(t, events[i].Synchronize(device.Forever))
	}
	sim.fault("cuEventElapsedTime", 1, resultInvalidHandle)
	_, err := device.Elapsed(events[0], events[1])
	require.Contains(t, requireCode(t, device.CodeInvalidState, err).Message, "cuEventElapsedTime")
	_, err = device.Elapsed(events[0], events[1])
	require.NoError(t, err)
	require.NoError(t, o.Close())
	sim.clean()
}

func TestBandwidthIsMeasured(t *testing.T) {
	o, sim := open(t, 0), newSimulator(t)
	e := engine.New(o, engine.Options{})
	gbps, err := e.MeasureBandwidth()
	require.NoError(t, err)
	require.Positive(t, gbps)
	require.NoError(t, o.Close())
	sim.clean()
}
