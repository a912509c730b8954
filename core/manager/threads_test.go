package manager_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
)

// tolerated panics for an error that a call must not return when others destroy what it
// uses.
func tolerated(err error) {
	for _, code := range []device.Code{device.CodeInvalidHandle, device.CodeBusy, device.CodeOutOfMemory, device.CodeInvalidState} {
		if err == nil || errors.Is(err, code) {
			return
		}
	}
	panic(err)
}

// TestOnDeviceManyThreadsUseAndDestroy has threads that use each other's blocks,
// streams and managers while others destroy them. It also checks the bytes: a block
// that is reused while a copy of its previous allocation still writes to it would not
// keep its pattern.
func TestOnDeviceManyThreadsUseAndDestroy(t *testing.T) {
	r := openReal(t, 2)
	var mu sync.Mutex
	var blocks []manager.MemoryHandle
	streams := []manager.StreamHandle{0}
	var managers []*manager.Manager
	for index := range 2 {
		managers = append(managers, r.manager(t, index, false))
	}
	pick := func(rng *rand.Rand) (a, b manager.MemoryHandle, on manager.StreamHandle, m *manager.Manager) {
		mu.Lock()
		defer mu.Unlock()
		if len(blocks) > 0 {
			a, b = blocks[rng.IntN(len(blocks))], blocks[rng.IntN(len(blocks))]
		}
		return a, b, streams[rng.IntN(len(streams))], managers[rng.IntN(len(managers))]
	}
	work := func(rng *rand.Rand) {
		a, b, on, m := pick(rng)
		switch rng.IntN(12) {
		case 0, 1, 2:
			h, err := m.Alloc(uint64(1000 + rng.IntN(60000)))
			tolerated(err)
			if err == nil {
				mu.Lock()
				blocks = append(blocks, h)
				mu.Unlock()
			}
		case 3, 4:
			if err := r.factory.CopyAsync(manager.NewTransfer(a, b, 1000), on); !errors.Is(err, device.CodeInvalidArgument) {
				tolerated(err)
			}
		case 5:
			tolerated(r.factory.Copy(manager.NewTransfer(a, b, 1000)))
		case 6, 7:
			tolerated(r.factory.Free(a))
		case 8:
			stream, err := r.streams[rng.IntN(2)].CreateStream()
			tolerated(err)
			mu.Lock()
			streams = append(streams, stream)
			mu.Unlock()
		case 9:
			if on != 0 {
				tolerated(r.factory.DestroyStream(on, rng.IntN(2) == 0))
			}
		case 10:
			if event, err := r.factory.RecordEvent(on); err == nil {
				tolerated(r.factory.SynchronizeEvent(event, device.Forever))
				tolerated(r.factory.DestroyEvent(event))
			}
		case 11:
			if rng.IntN(20) == 0 {
				tolerated(m.Close(true))
				fresh, err := r.factory.CreateMemoryManager(m.Engine(), m.Config())
				tolerated(err)
				mu.Lock()
				managers[0], managers[1] = managers[1], fresh
				mu.Unlock()
			} else {
				tolerated(m.ConfigurePool(manager.General, m.Config().PoolConfigs[manager.General]))
				_, err := m.Defragment()
				tolerated(err)
				m.EachBlock(func(manager.HandleInfo) bool { return true })
			}
		}
	}
	var wait sync.WaitGroup
	for thread := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			rng := rand.New(rand.NewPCG(1, uint64(thread)))
			for range 300 {
				work(rng)
			}
		}()
	}
	// One more thread checks that its own blocks belong to no other thread.
	wait.Add(1)
	go func() {
		defer wait.Done()
		own := r.manager(t, 0, false)
		source, back := make([]byte, 3000), make([]byte, 3000)
		for round := range 200 {
			for i := range source {
				source[i] = byte(round)
			}
			h, err := own.Alloc(3000)
			if err != nil {
				tolerated(err)
				continue
			}
			tolerated(r.factory.Write(h, 0, hostAddr(source), 3000))
			tolerated(r.factory.Read(h, 0, hostAddr(back), 3000))
			for _, b := range back {
				if b != byte(round) {
					panic("a block of one thread was written to by another")
				}
			}
			tolerated(r.factory.Free(h))
		}
		runtime.KeepAlive(source)
	}()
	wait.Wait()
	r.close(t)
}

func TestOnDeviceFreeAgainstCopyAsync(t *testing.T) {
	r := openReal(t, 1)
	m := r.manager(t, 0, false)
	stream, err := r.streams[0].CreateStream()
	require.NoError(t, err)
	for range 300 {
		src, err := m.Alloc(50_000)
		require.NoError(t, err)
		dst, err := m.Alloc(50_000)
		require.NoError(t, err)
		var wait sync.WaitGroup
		wait.Add(3)
		go func() {
			defer wait.Done()
			tolerated(r.factory.CopyAsync(manager.NewTransfer(src, dst, 50_000), stream))
		}()
		freed := make(chan error, 2)
		for range 2 {
			go func() {
				defer wait.Done()
				freed <- r.factory.Free(src)
			}()
		}
		wait.Wait()
		first, second := <-freed, <-freed
		require.True(t, (first == nil) != (second == nil), "one of two frees succeeds: %v, %v", first, second)
		require.NoError(t, r.factory.Free(dst))
	}
	require.Zero(t, m.Statistics().LiveBlocks.Current)
	require.NoError(t, m.Close(false))
	r.close(t)
}

func TestOnDeviceCopiesBothWaysAtOnce(t *testing.T) {
	r := openReal(t, 1)
	m := r.manager(t, 0, false)
	a, err := m.Alloc(1000)
	require.NoError(t, err)
	b, err := m.Alloc(1000)
	require.NoError(t, err)
	var wait sync.WaitGroup
	for _, transfer := range []manager.Transfer{manager.NewTransfer(a, b, 10), manager.NewTransfer(b, a, 10)} {
		for range 2 {
			wait.Add(1)
			go func() {
				defer wait.Done()
				for range 2000 {
					if err := r.factory.CopyAsync(transfer, manager.DefaultStream); err != nil {
						panic(err)
					}
				}
			}()
		}
	}
	wait.Wait()
	r.close(t)
}

func TestOnDeviceCloseAgainstAlloc(t *testing.T) {
	r := openReal(t, 1)
	for range 100 {
		m := r.manager(t, 0, false)
		var wait sync.WaitGroup
		for range 4 {
			wait.Add(1)
			go func() {
				defer wait.Done()
				for range 5 {
					h, err := m.Alloc(1000)
					tolerated(err)
					if err == nil {
						tolerated(r.factory.Free(h))
					}
				}
			}()
		}
		err := m.Close(false)
		tolerated(err)
		wait.Wait()
		if err != nil {
			require.NoError(t, m.Close(false))
		}
	}
	r.close(t)
}

func TestOnDeviceReclaimCallbackMayFreeBlocks(t *testing.T) {
	r := openReal(t, 1)
	m := r.manager(t, 0, false)
	const total = 64 << 20
	require.NoError(t, r.engines[0].SetLimit(total))
	large, err := m.Alloc(total / 4 * 3)
	require.NoError(t, err)
	called := 0
	registration, err := r.engines[0].OnReclaim(engine.ReclaimConfig{Deadline: 10_000_000_000}, func(uint64) uint64 {
		called++
		if err := r.factory.Free(large); err != nil {
			panic(err)
		}
		return total / 4 * 3
	})
	require.NoError(t, err)
	h, err := m.Alloc(total / 2)
	require.NoError(t, err)
	require.Equal(t, 1, called)
	require.NoError(t, r.factory.Free(h))
	registration.Remove(false)
	r.close(t)
}
