package fallback_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
)

func make1(t require.TestingT, m *fallback.Manager, r fallback.Request) *fallback.Buffer {
	b, err := m.Alloc(r)
	require.NoError(t, err)
	return b
}

func TestOnDeviceFallsBackAndComesBack(t *testing.T) {
	r := newRig(t, 32*mib)
	defer r.close(t)
	m := r.manager(t, plainConfig().WithTracking(true))
	big := make1(t, m, bytesOf(30*mib))
	require.True(t, big.IsGPU())

	// The first buffer may move to the device by itself, the second may not.
	loose, fixed := bytesOf(6*mib), bytesOf(4*mib)
	loose.Movable, loose.Tag = true, "kv"
	moves, stays := make1(t, m, loose), make1(t, m, fixed)
	require.True(t, moves.IsCPUFallback())
	require.True(t, stays.IsCPUFallback())
	moving, staying := fill(t, moves), fill(t, stays)
	stats := m.FallbackStats()
	require.EqualValues(t, 2, stats.CPUFallbacks)
	require.EqualValues(t, 3, stats.ActiveBuffers)
	require.EqualValues(t, 10*mib, stats.CPUBytes)
	require.EqualValues(t, 2, stats.CPUBuffers)
	meta, ok := m.Tracker().Get(moves.ID())
	require.True(t, ok)
	require.Equal(t, fallback.BufferLocation{Side: fallback.CPU, Device: r.host.ID()}, meta.Location)
	require.Equal(t, "kv", meta.Tag)

	require.NoError(t, big.Free(nil))
	require.True(t, moves.IsGPU(), "there is room again")
	require.True(t, stays.IsCPUFallback())
	require.Equal(t, moving, contents(t, moves))
	meta, _ = m.Tracker().Get(moves.ID())
	require.Equal(t, fallback.BufferLocation{Side: fallback.GPU, Device: r.gpu.ID()}, meta.Location)

	require.NoError(t, stays.Pin())
	moved, err := m.Return()
	require.NoError(t, err)
	require.Zero(t, moved, "a pinned buffer does not move")
	require.NoError(t, stays.Unpin())
	moved, err = m.Return()
	require.NoError(t, err)
	require.Equal(t, 1, moved)
	require.Equal(t, staying, contents(t, stays))
	stats = m.FallbackStats()
	require.EqualValues(t, 2, stats.MovedToGPU)
	require.Zero(t, stats.CPUBytes+stats.CPUBuffers)
	require.NoError(t, moves.Free(nil))
	require.NoError(t, stays.Free(nil))
	require.NoError(t, m.Close(false))
	require.NoError(t, m.Close(false), "twice")
}

func TestOnDeviceWithoutFallbackItIsOutOfMemory(t *testing.T) {
	r := newRig(t, 32*mib)
	defer r.close(t)
	m := r.manager(t, plainConfig().WithCPUFallback(false))
	_, err := m.Alloc(bytesOf(33 * mib))
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	onCPU := bytesOf(1)
	onCPU.Place = fallback.OnCPU
	_, err = m.Alloc(onCPU)
	require.ErrorIs(t, err, device.CodeInvalidState)
	require.Zero(t, m.Stats().CPUFallbacks)
	require.NoError(t, m.Close(false))

	both := r.manager(t, plainConfig())
	only := bytesOf(33 * mib)
	only.Place = fallback.OnGPU
	_, err = both.Alloc(only)
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	_, err = both.Alloc(bytesOf(65 * mib))
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.ErrorContains(t, err, "neither the device nor the host")
	require.Equal(t, fallback.Stats{MemoryStats: fallback.MemoryStats{PoolMisses: 2}}, both.FallbackStats())
	require.NoError(t, both.Close(false))
}

func TestOnDeviceMinimumFreeMakesItFallBack(t *testing.T) {
	r := newRig(t, 32*mib)
	defer r.close(t)
	m := r.manager(t, plainConfig().WithMinFreeBytes(20*mib))
	first, second := make1(t, m, bytesOf(8*mib)), make1(t, m, bytesOf(8*mib))
	require.True(t, first.IsGPU())
	require.True(t, second.IsCPUFallback())
	require.NoError(t, first.Free(nil))
	require.NoError(t, second.Free(nil))
	require.NoError(t, m.Close(false))
}

func TestOnDeviceStorageIsTakenAndAdopted(t *testing.T) {
	r := newRig(t, 32*mib)
	defer r.close(t)
	m := r.manager(t, plainConfig().WithTracking(true))
	for _, where := range []fallback.Place{fallback.OnGPU, fallback.OnCPU} {
		asked := fallback.Request{Shape: fallback.Shape{DType: fallback.BF16, Len: 1000}, Place: where}
		b := make1(t, m, asked)
		content := fill(t, b)
		other := fallback.CPU
		if b.Side() == fallback.CPU {
			other = fallback.GPU
		}
		_, err := b.Take(other)
		require.ErrorIs(t, err, device.CodeInvalidState)
		require.NoError(t, b.Pin())
		_, err = b.Take(b.Side())
		require.ErrorIs(t, err, device.CodeBusy)
		require.NoError(t, b.Unpin())

		addr, err := b.Take(b.Side())
		require.NoError(t, err)
		require.ErrorIs(t, b.Free(nil), device.CodeInvalidState, "the buffer has ended")
		require.Zero(t, m.Tracker().Count())
		require.ErrorIs(t, m.Close(false), device.CodeBusy)
		taken := fallback.Taken{Side: b.Side(), Addr: addr}
		asked.Len = 1 << 40
		_, err = m.Adopt(taken, asked)
		require.ErrorIs(t, err, device.CodeInvalidSize)
		asked.Len, asked.DType = 500, fallback.F32
		again, err := m.Adopt(taken, asked)
		require.NoError(t, err)
		require.Equal(t, content, contents(t, again))
		_, err = m.Adopt(taken, asked)
		require.ErrorIs(t, err, device.CodeInvalidAddress)

		_, err = again.Take(again.Side())
		require.NoError(t, err)
		require.NoError(t, m.Release(taken, nil))
		require.ErrorIs(t, m.Release(taken, nil), device.CodeInvalidAddress)
	}
	require.Zero(t, m.Stats().InUseBytes+m.Stats().ActiveBuffers)
	require.NoError(t, m.Close(false))
}

// The test compares the manager with a model that knows the side and the contents of each
// buffer.
func TestOnDeviceManagerAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(t, mib/4)
		defer r.close(t)
		m := r.manager(t, plainConfig().WithTracking(true).WithMaxPooled(rapid.Uint64Range(0, 2).Draw(t, "per_bucket")))
		type known struct {
			buffer  *fallback.Buffer
			content []byte
			pins    int
		}
		var live []*known
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			if len(live) == 0 || rapid.IntRange(0, 2).Draw(t, "make") == 0 {
				asked := bytesOf(rapid.SampledFrom([]uint64{1, 1000, mib / 32, 3 * mib / 32, 5 * mib / 32}).Draw(t, "bytes"))
				asked.Movable = rapid.Bool().Draw(t, "movable")
				asked.Place = rapid.SampledFrom([]fallback.Place{fallback.OnEither, fallback.OnGPU, fallback.OnCPU}).Draw(t, "place")
				b, err := m.Alloc(asked)
				if err != nil {
					require.ErrorIs(t, err, device.CodeOutOfMemory)
					continue
				}
				if asked.Place != fallback.OnEither {
					require.Equal(t, asked.Place == fallback.OnGPU, b.IsGPU())
				}
				live = append(live, &known{buffer: b, content: fill(t, b)})
				continue
			}
			i := rapid.IntRange(0, len(live)-1).Draw(t, "which")
			k := live[i]
			side := k.buffer.Side()
			var err error
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				require.NoError(t, k.buffer.Pin())
				k.pins++
				continue
			case 1:
				if k.pins > 0 {
					require.NoError(t, k.buffer.Unpin())
					k.pins--
				} else {
					require.ErrorIs(t, k.buffer.Unpin(), device.CodeInvalidState)
				}
				continue
			case 2:
				if err = k.buffer.Free(nil); err == nil {
					require.Zero(t, k.pins)
					live = append(live[:i], live[i+1:]...)
				}
			case 3:
				if err = k.buffer.ToCPU(); err == nil {
					side = fallback.CPU
				}
			case 4:
				if err = k.buffer.ToGPU(); err == nil {
					side = fallback.GPU
				}
			case 5:
				_, err := m.Return()
				require.NoError(t, err)
				for _, other := range live {
					require.Equal(t, other.content, contents(t, other.buffer))
				}
				continue
			}
			if err != nil {
				require.Contains(t, []device.Code{device.CodeOutOfMemory, device.CodeBusy}, device.CodeOf(err))
				require.Equal(t, device.CodeOf(err) == device.CodeBusy, k.pins > 0)
			}
			if i < len(live) && live[i] == k {
				require.Equal(t, side, k.buffer.Side())
				require.Equal(t, k.content, contents(t, k.buffer))
			}
		}
		stats, total, onCPU := m.FallbackStats(), uint64(0), uint64(0)
		for _, k := range live {
			require.Equal(t, k.content, contents(t, k.buffer))
			total += k.buffer.SizeBytes()
			if k.buffer.IsCPUFallback() {
				onCPU++
			}
			meta, ok := m.Tracker().Get(k.buffer.ID())
			require.True(t, ok)
			require.Equal(t, k.buffer.Location(), meta.Location)
		}
		require.EqualValues(t, len(live), stats.ActiveBuffers)
		require.Equal(t, onCPU, stats.CPUBuffers)
		require.Equal(t, total, m.Tracker().TotalBytes())
		require.Equal(t, stats.TotalAllocatedBytes, stats.InUseBytes+stats.PooledBytes)
		require.NoError(t, m.Close(true))
	})
}

// counters are the counters that a failed call must not change.
type counters struct {
	inUse, cpuBytes, cpuBuffers, active, tracked uint64
}

func countersOf(m *fallback.Manager) counters {
	s := m.FallbackStats()
	return counters{s.InUseBytes, s.CPUBytes, s.CPUBuffers, s.ActiveBuffers, m.Tracker().TotalBytes()}
}

// Fault injection: each call fails at its n-th use of a device, for every n. A failed call
// changes nothing and leaves nothing allocated.
func TestOnDeviceEachFailedCallOfAManagerChangesNothing(t *testing.T) {
	calls := map[string]struct {
		on  func(*rig) *shaky
		run func(m *fallback.Manager, b, fallen *fallback.Buffer) error
	}{
		"to_cpu":       {gpuOf, func(_ *fallback.Manager, b, _ *fallback.Buffer) error { return b.ToCPU() }},
		"to_cpu, host": {hostOf, func(_ *fallback.Manager, b, _ *fallback.Buffer) error { return b.ToCPU() }},
		"to_gpu":       {gpuOf, func(_ *fallback.Manager, _, fallen *fallback.Buffer) error { return fallen.ToGPU() }},
		"write": {gpuOf, func(_ *fallback.Manager, b, _ *fallback.Buffer) error {
			return b.Write(fallback.Part{SizeBytes: 1}, hostAddr([]byte{b0(b)}))
		}},
		"allocate": {gpuOf, func(m *fallback.Manager, _, _ *fallback.Buffer) error {
			return allocateAndFree(m, 6*mib/10, fallback.OnGPU)
		}},
		"allocate, host": {hostOf, func(m *fallback.Manager, _, _ *fallback.Buffer) error {
			return allocateAndFree(m, 8*mib, fallback.OnCPU)
		}},
		"return": {gpuOf, func(m *fallback.Manager, _, _ *fallback.Buffer) error {
			_, err := m.Return()
			return err
		}},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			failures := 0
			for n := 0; ; n++ {
				r := newRig(t, 10*mib)
				m := r.manager(t, plainConfig().WithTracking(true).WithMinFreeBytes(mib/10))
				hog := make1(t, m, bytesOf(9*mib))
				b, fallen := make1(t, m, bytesOf(4*mib/10)), make1(t, m, bytesOf(mib))
				require.True(t, fallen.IsCPUFallback())
				mine, other := fill(t, b), fill(t, fallen)
				require.NoError(t, hog.Free(nil))
				before, dev := countersOf(m), call.on(r)
				sides := []fallback.Side{b.Side(), fallen.Side()}
				dev.failAfter(n)
				err := call.run(m, b, fallen)
				failed := dev.hasFailed()
				if err != nil {
					failures++
					require.ErrorIs(t, err, device.CodeDevice, "call %d", n)
					require.Equal(t, before, countersOf(m), "call %d", n)
					require.Equal(t, sides, []fallback.Side{b.Side(), fallen.Side()}, "call %d", n)
				}
				require.Equal(t, mine, contents(t, b), "call %d", n)
				require.Equal(t, other, contents(t, fallen), "call %d", n)
				require.NoError(t, b.Free(nil))
				require.NoError(t, fallen.Free(nil))
				require.NoError(t, m.Close(false))
				r.close(t)
				if !failed {
					require.Positive(t, failures)
					return
				}
			}
		})
	}
}

func gpuOf(r *rig) *shaky  { return r.gpuDevice }
func hostOf(r *rig) *shaky { return r.hostDevice }

// b0 returns the first byte that fill writes.
func b0(b *fallback.Buffer) byte { return byte(uint64(b.ID()) * 31) }

func allocateAndFree(m *fallback.Manager, bytes uint64, where fallback.Place) error {
	asked := bytesOf(bytes)
	asked.Place = where
	b, err := m.Alloc(asked)
	if err != nil {
		return err
	}
	err = b.Free(nil)
	if err != nil && b.Free(nil) != nil {
		panic("a buffer whose free failed cannot be freed")
	}
	return err
}

func TestOnDeviceManagerUnderThreads(t *testing.T) {
	r := newRig(t, mib/2)
	defer r.close(t)
	m := r.manager(t, plainConfig().WithTracking(true))
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range 30 {
				asked := bytesOf(uint64(1+(n+i)%4) * mib / 32)
				asked.Movable = i%2 == 0
				b, err := m.Alloc(asked)
				if err != nil {
					if device.CodeOf(err) != device.CodeOutOfMemory {
						t.Error(err)
					}
					continue
				}
				want := fill(t, b)
				if i%3 == 0 {
					if err := b.ToCPU(); err != nil && device.CodeOf(err) != device.CodeOutOfMemory {
						t.Error(err)
					}
				}
				if string(want) != string(contents(t, b)) {
					t.Error("the contents of a buffer have changed")
				}
				if err := b.Free(nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	stats := m.FallbackStats()
	require.Zero(t, stats.InUseBytes+stats.CPUBytes+stats.CPUBuffers+stats.ActiveBuffers)
	require.Zero(t, m.Tracker().Count())
	require.NoError(t, m.Close(false))
}

func TestOnDeviceManagerRefuses(t *testing.T) {
	r := newRig(t, mib/2)
	defer r.close(t)
	_, err := fallback.NewManager(r.gpu, nil, plainConfig())
	require.ErrorIs(t, err, device.CodeInvalidConfig)
	_, err = fallback.NewManager(r.gpu, r.gpu, plainConfig())
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	m := r.manager(t, plainConfig())
	for want, change := range map[string]func(*fallback.Request){
		"len is 0":   func(r *fallback.Request) { r.Len = 0 },
		"dtype 99":   func(r *fallback.Request) { r.DType = 99 },
		"place 3":    func(r *fallback.Request) { r.Place = 3 },
		"64 bytes":   func(r *fallback.Request) { r.Tag = string(make([]byte, 64)) },
		"not fit 64": func(r *fallback.Request) { r.DType, r.Len = fallback.F64, 1<<62 },
	} {
		asked := bytesOf(1)
		change(&asked)
		_, err := m.Alloc(asked)
		require.ErrorContains(t, err, want)
	}
	b := make1(t, m, bytesOf(100))
	some := hostAddr(make([]byte, 100))
	require.ErrorIs(t, b.Write(fallback.Part{SizeBytes: 1}, 0), device.CodeNullPointer)
	require.ErrorIs(t, b.Read(fallback.Part{}, some), device.CodeInvalidSize)
	require.ErrorIs(t, b.Read(fallback.Part{OffsetBytes: 50, SizeBytes: 51}, some), device.CodeInvalidOffset)
	require.ErrorIs(t, b.Read(fallback.Part{OffsetBytes: 1, SizeBytes: ^uint64(0)}, some), device.CodeInvalidOffset)
	_, err = b.Take(7)
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	require.ErrorIs(t, m.Close(false), device.CodeBusy)
	require.NoError(t, m.Close(true))
	require.ErrorIs(t, b.Free(nil), device.CodeInvalidState)
	require.ErrorIs(t, b.ToCPU(), device.CodeInvalidState)
	require.ErrorIs(t, b.Read(fallback.Part{SizeBytes: 1}, some), device.CodeInvalidState)
	_, err = m.Alloc(bytesOf(1))
	require.ErrorIs(t, err, device.CodeInvalidState)
	_, err = m.Return()
	require.ErrorIs(t, err, device.CodeInvalidState)
}
