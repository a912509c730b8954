package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// script runs a fixed program on a manager, whatever fails, and after each step
// compares the live blocks with the results of the step.
type script struct {
	t *testing.T
	r *rig
	m *Manager

	live    map[MemoryHandle]uint64
	streams []StreamHandle
	events  []EventHandle
	failed  []error
}

// step records the result of a call and reports whether it succeeded.
func (s *script) step(err error) bool {
	s.t.Helper()
	if err != nil {
		s.failed = append(s.failed, err)
		require.Equal(s.t, device.CodeDevice, device.CodeOf(err), "%v", err)
	}
	s.check()
	return err == nil
}

func (s *script) check() {
	s.t.Helper()
	if s.m != nil {
		stats := s.m.Statistics()
		require.NoError(s.t, stats.Check())
		requested := uint64(0)
		for _, size := range s.live {
			requested += size
		}
		require.Equal(s.t, requested, stats.Requested.Current)
		require.EqualValues(s.t, len(s.live), stats.LiveBlocks.Current)
	}
	for h, size := range s.live {
		info, err := s.r.factory.HandleInfo(h)
		require.NoError(s.t, err)
		require.Equal(s.t, size, info.SizeBytes)
	}
	left := s.r.factory.Leftovers(s.r.engine)
	require.Equal(s.t, len(s.streams), left.Streams)
	require.Equal(s.t, len(s.events), left.Events)
}

func (s *script) allocate(size uint64) (h MemoryHandle) {
	h, err := s.m.Alloc(size)
	if err == nil {
		s.live[h] = size
	}
	s.step(err)
	return h
}

func (s *script) deallocate(h MemoryHandle) {
	if _, ok := s.live[h]; !ok {
		return
	}
	err := s.r.factory.Free(h)
	if err == nil {
		delete(s.live, h)
	}
	s.step(err)
}

func (s *script) run(debug bool) {
	f := s.r.factory
	c := smallConfig()
	c.EnableDebug = debug
	var err error
	s.m, err = f.CreateMemoryManager(s.r.engine, c)
	if !s.step(err) {
		return
	}
	stream, err := s.r.streams.CreateStream()
	if err == nil {
		s.streams = append(s.streams, stream)
	}
	s.step(err)
	a, b := s.allocate(1000), s.allocate(70*kib)
	onEach := func(call func(a, b MemoryHandle) error) {
		if s.live[a] != 0 && s.live[b] != 0 {
			s.step(call(a, b))
		}
	}
	host := s.r.dev.HostBuffer(make([]byte, 500))
	onEach(func(a, b MemoryHandle) error { return f.Write(a, 0, host, 500) })
	onEach(func(a, b MemoryHandle) error { return f.FillAsync(fillOf(b, 0, 64, 3, 1), 0) })
	onEach(func(a, b MemoryHandle) error { return f.Copy(NewTransfer(b, a, 64)) })
	if len(s.streams) > 0 {
		onEach(func(a, b MemoryHandle) error { return f.CopyAsync(NewTransfer(a, b, 64), stream) })
		if event, err := f.RecordEvent(stream); s.step2(err, func() { s.events = append(s.events, event) }) {
			s.step(f.SynchronizeEvent(event, device.Forever))
			s.step2(f.DestroyEvent(event), func() { s.events = nil })
		}
	}
	onEach(func(a, b MemoryHandle) error { return f.Read(a, 0, host, 64) })
	s.step(s.m.ConfigurePool(General, smallPool()))
	s.deallocate(a)
	s.allocate(300)
	s.deallocate(b)
	_, err = s.m.Defragment()
	s.step(err)
	if len(s.streams) > 0 {
		s.step2(f.DestroyStream(stream, true), func() { s.streams = nil })
	}
}

// step2 updates the model after a success, before the step is checked.
func (s *script) step2(err error, done func()) bool {
	if err == nil {
		done()
	}
	return s.step(err)
}

// Every driver call of the program fails once, in turn. Nothing may be lost, and
// closing releases everything.
func TestEveryDriverCallMayFail(t *testing.T) {
	for _, debug := range []bool{false, true} {
		for n := 1; ; n++ {
			var warnings []string
			dev := devicetest.Open(devicetest.Config{TotalBytes: 1 << 20, Backed: true})
			f := NewFactory()
			e := engine.New(dev, engine.Options{Log: func(_ engine.Level, message string) {
				warnings = append(warnings, message)
			}})
			r := &rig{dev: dev, engine: e, factory: f, streams: f.CreateStreamManager(e)}
			dev.FailNth(devicetest.Any, n, nil)
			s := &script{t: t, r: r, live: map[MemoryHandle]uint64{}}
			s.run(debug)
			unused := dev.ClearFaults()
			s.check()
			r.finish(t)
			if unused > 0 {
				require.Empty(t, s.failed)
				require.Greater(t, n, 30, "the program makes this many driver calls")
				break
			}
			require.LessOrEqual(t, len(s.failed), 1, "a failure is reported at most once: %v", s.failed)
		}
	}
}

// Every driver call during the close fails once, in turn; the next attempt releases
// everything.
func TestEveryDriverCallOfClosingMayFail(t *testing.T) {
	for n := 1; ; n++ {
		r := newRig(t, devicetest.Config{Backed: true})
		m := r.manager(t, nil)
		stream, err := r.streams.CreateStream()
		require.NoError(t, err)
		a, b := m.mustAlloc(t, 100), m.mustAlloc(t, 100*kib)
		_, err = r.streams.RecordEvent(stream)
		require.NoError(t, err)
		require.NoError(t, r.factory.CopyAsync(NewTransfer(a, b, 100), stream))
		require.NoError(t, r.factory.FillAsync(fillOf(b, 0, 100, 1, 1), DefaultStream))
		r.dev.FailNth(devicetest.Any, n, nil)
		_, err = r.factory.CloseDevice(r.engine, true)
		unused := r.dev.ClearFaults()
		if err == nil {
			require.NoError(t, r.engine.Close())
			require.Zero(t, r.dev.HeldBytes()+uint64(r.dev.OpenStreams()+r.dev.OpenEvents()))
		} else {
			requireError(t, err, device.CodeDevice)
			r.finish(t)
		}
		if unused > 0 {
			require.Greater(t, n, 8, "closing makes this many driver calls")
			return
		}
	}
}
