package vmm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// crowd is 64 goroutines on one elastic pool.
type crowd struct {
	*party
	granted, refused, reclaimed atomic.Uint64

	// loose has ranges by model that a callback may free.
	mu    sync.Mutex
	loose map[string][]Allocation
}

func (c *crowd) put(id string, a Allocation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loose[id] = append(c.loose[id], a)
}

func (c *crowd) pull(id string) (a Allocation, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.loose[id]
	if len(held) == 0 {
		return Allocation{}, false
	}
	c.loose[id] = held[1:]
	return held[0], true
}

func (c *crowd) reclaim(m *Model) func(needed uint64) uint64 {
	return func(needed uint64) (freed uint64) {
		for freed < needed {
			a, ok := c.pull(m.id)
			if !ok || m.Free(a.OffsetBytes, a.SizeBytes, nil) != nil {
				break
			}
			freed += a.SizeBytes
			c.reclaimed.Add(1)
		}
		return freed
	}
}

// work allocates and frees ranges of one model, on its own stream.
func (c *crowd) work(t *testing.T, id string, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	stream, err := c.dev.NewStream()
	require.NoError(t, err)
	for range 60 {
		got, err := c.shared.Alloc(id, 1+random.Uint64N(4*page))
		switch {
		case err == nil:
			c.granted.Add(1)
			if random.IntN(4) > 0 {
				c.put(id, got)
				continue
			}
			require.NoError(t, stream.HostFunction(func() {}))
			err = c.shared.Free(id, got.OffsetBytes, got.SizeBytes, stream)
			require.True(t, err == nil || errors.Is(err, device.CodeModelNotFound), "%v", err)
		case errors.Is(err, device.CodeOutOfPhysicalMemory), errors.Is(err, device.CodeOutOfVirtualMemory),
			errors.Is(err, device.CodeModelNotFound):
			c.refused.Add(1)
			if a, ok := c.pull(id); ok {
				err := c.shared.Free(id, a.OffsetBytes, a.SizeBytes, stream)
				require.True(t, err == nil || errors.Is(err, device.CodeModelNotFound) || errors.Is(err, device.CodeNotMapped), "%v", err)
			}
		default:
			require.NoError(t, err)
		}
	}
	require.NoError(t, stream.Synchronize(device.Forever))
	require.NoError(t, stream.Close())
}

// The test has models with guarantees, callbacks and changing limits, one that is
// registered and unregistered, and a thread that reads all the time.
func TestManyThreadsOnAnElasticPool(t *testing.T) {
	c := &crowd{loose: map[string][]Allocation{}}
	c.party = newPartyWith(t, devicetest.Config{TotalBytes: 6 * mib}, engine.Options{}, ElasticConfig{
		LimitBytes: 80 * page, ReadyPages: 4,
	}, true)
	const models = 5
	for i := range models {
		m := c.model(t, fmt.Sprint(i), uint64(4*i), uint64(80*(i%2)), int32(i%3))
		_, err := c.shared.OnReclaim(m.id, 10*time.Millisecond, c.reclaim(m))
		require.NoError(t, err)
	}
	var workers, others sync.WaitGroup
	var over atomic.Bool
	for i := range 58 {
		workers.Go(func() { c.work(t, fmt.Sprint(i%models), uint64(i)) })
	}
	others.Go(func() {
		for i := 0; !over.Load(); i++ {
			require.NoError(t, c.shared.SetLimit(uint64(60+i%21)*page))
			limits := ModelLimits{GuaranteedBytes: uint64(i%9) * page, Priority: int32(i % 3), GuaranteeMayWait: i%2 == 0}
			err := c.shared.SetModelLimits("1", limits)
			require.True(t, err == nil || !limits.GuaranteeMayWait && errors.Is(err, device.CodeOutOfPhysicalMemory), "%v", err)
		}
	})
	for i := range 2 {
		others.Go(func() {
			id := fmt.Sprint("guest", i)
			for !over.Load() {
				m, err := c.shared.Register(id, ModelConfig{VirtualBytes: 64 * page, GuaranteedBytes: 2 * page, GuaranteeMayWait: true, Priority: 1})
				require.NoError(t, err)
				_, err = c.shared.OnReclaim(id, time.Millisecond, func(uint64) uint64 { return 0 })
				require.NoError(t, err)
				_, err = m.Alloc(6 * page)
				require.True(t, err == nil || errors.Is(err, device.CodeOutOfPhysicalMemory), "%v", err)
				require.NoError(t, c.shared.Unregister(id, true))
			}
		})
	}
	for range 3 {
		others.Go(func() {
			for !over.Load() {
				c.look(t)
			}
		})
	}
	workers.Wait()
	over.Store(true)
	others.Wait()
	require.NotZero(t, c.granted.Load())
	require.NotZero(t, c.reclaimed.Load())
	c.shared.physical.worker.stop()
	c.shared.physical.CompleteFrees()
	c.quit(t)
}

// look checks that a snapshot is consistent.
func (c *crowd) look(t *testing.T) {
	stats := c.shared.Stats()
	var physical, guaranteed uint64
	for _, each := range stats.Each {
		require.Equal(t, each.PhysicalBytes, (each.MappedPages+each.RetiringPages)*page)
		physical += each.PhysicalBytes
		guaranteed += each.GuaranteedBytes
	}
	require.Equal(t, stats.PhysicalBytes, physical+stats.PendingBytes)
	require.LessOrEqual(t, guaranteed, stats.GuaranteedBytes)
	require.LessOrEqual(t, stats.GuaranteedBytes, stats.PhysicalLimitBytes)
	require.LessOrEqual(t, stats.PhysicalBytes, 80*page)
	require.LessOrEqual(t, stats.HeldBytes, 80*page)
}
