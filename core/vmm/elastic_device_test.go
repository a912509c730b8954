package vmm_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm"
	"ferrum_mem/drivers/testdevice"
)

// Models on real memory, with the worker, take pages from each other. Each finds zeros
// or its own bytes, and keeps what it wrote while others are registered and
// unregistered.
func TestOnDeviceModelsNeverReadEachOther(t *testing.T) {
	for _, backing := range backings {
		g := onDevice(t, 256*mib)
		page := g.page
		s, err := vmm.NewElastic(g.engine, vmm.ElasticConfig{Name: "s", LimitBytes: 24 * page, PageBytes: page, ReadyPages: 2, Backing: backing})
		require.NoError(t, err)
		var wait sync.WaitGroup
		for tenant := range 3 {
			id, mark := fmt.Sprint(tenant), byte(tenant+1)
			m, err := s.Register(id, vmm.ModelConfig{VirtualBytes: 64 * page, GuaranteedBytes: 4 * page})
			require.NoError(t, err)
			wait.Go(func() {
				for round := range testdevice.Times(150) {
					got, err := m.Alloc(uint64(1+round%9) * page)
					if err != nil {
						require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
						continue
					}
					for at := range got.SizeBytes / page {
						addr := got.Addr + device.Addr(at*page)
						for _, held := range []byte{0, mark} {
							other, differs, err := g.bytes.FirstOther(addr, held, page)
							require.NoError(t, err)
							if !differs {
								break
							}
							require.NotEqual(t, mark, held, "tenant %d, round %d: %+v", tenant, round, other)
						}
					}
					require.NoError(t, g.bytes.Fill(got.Addr, mark, got.SizeBytes))
					_, differs, err := g.bytes.FirstOther(got.Addr, mark, got.SizeBytes)
					require.NoError(t, err)
					require.False(t, differs)
					require.NoError(t, m.Free(got.OffsetBytes, got.SizeBytes, nil))
				}
			})
		}
		wait.Wait()
		require.NoError(t, s.Close(false))
		g.close(t)
	}
}

// The stream of one model still writes to a page that the model has freed. The next
// model waits for the page because of the limit, and finds zeros.
func TestOnDeviceRetiringPagesAreZeros(t *testing.T) {
	for _, backing := range backings {
		g := onDevice(t, 256*mib)
		s, err := vmm.NewElastic(g.engine, vmm.ElasticConfig{Name: "s", LimitBytes: 7 * g.page, PageBytes: g.page, Backing: backing})
		require.NoError(t, err)
		var models [2]*vmm.Model
		var streams [2]device.Stream
		for i := range models {
			models[i], err = s.Register(fmt.Sprint(i), vmm.ModelConfig{VirtualBytes: 32 * g.page})
			require.NoError(t, err)
			streams[i], err = g.dev.NewStream()
			require.NoError(t, err)
		}
		for round := range 20 {
			m, on := models[round%2], streams[round%2]
			got, err := m.Alloc(7 * g.page)
			require.NoError(t, err)
			g.holds(t, got.Addr, 0, got.SizeBytes)
			for value := range 4 {
				pattern := device.Pattern{Value: uint64(value + round + 1), WidthBytes: 1}
				require.NoError(t, on.Fill(got.Addr, pattern, got.SizeBytes))
			}
			require.NoError(t, m.Free(got.OffsetBytes, got.SizeBytes, on))
		}
		require.NoError(t, s.Close(false))
		for _, each := range streams {
			require.NoError(t, each.Close())
		}
		g.close(t)
	}
}

// BenchmarkRegister measures Register and Unregister of a model with 1 TiB of address
// space.
func BenchmarkRegister(b *testing.B) {
	dev, e := onHost(b, 1<<30)
	s, err := vmm.NewElastic(e, vmm.ElasticConfig{Name: "s", LimitBytes: 1 << 29})
	require.NoError(b, err)
	var register, unregister stopwatch
	before, err := dev.Memory()
	require.NoError(b, err)
	for b.Loop() {
		register.time(func() { _, err = s.Register("m", vmm.ModelConfig{VirtualBytes: 1 << 40, GuaranteedBytes: 1 << 28}) })
		require.NoError(b, err)
		require.Zero(b, s.GlobalStats().HeldBytes)
		unregister.time(func() { err = s.Unregister("m", false) })
		require.NoError(b, err)
		register.turn()
		unregister.turn()
	}
	after, err := dev.Memory()
	require.NoError(b, err)
	require.Equal(b, before, after)
	register.report(b, "register", 1)
	unregister.report(b, "unregister", 1)
	require.NoError(b, s.Close(false))
	require.NoError(b, e.Close())
}

// BenchmarkSharedPair measures one recycled 2 MiB page of a model, with other models
// beside it: what the elastic pool adds to BenchmarkPair.
func BenchmarkSharedPair(b *testing.B) {
	for _, models := range []int{1, 16} {
		b.Run(fmt.Sprint(models, "models"), func(b *testing.B) {
			_, e := onHost(b, 1<<30)
			s, err := vmm.NewElastic(e, vmm.ElasticConfig{Name: "s", LimitBytes: 1 << 29})
			require.NoError(b, err)
			for i := range models {
				_, err := s.Register(fmt.Sprint(i), vmm.ModelConfig{VirtualBytes: 1 << 30, GuaranteedBytes: 1 << 23})
				require.NoError(b, err)
			}
			m, err := s.Model("0")
			require.NoError(b, err)
			var pair stopwatch
			for b.Loop() {
				pair.time(func() {
					got, err := m.Alloc(m.PageBytes())
					require.NoError(b, err)
					require.NoError(b, m.Free(got.OffsetBytes, got.SizeBytes, nil))
				})
				pair.turn()
			}
			pair.report(b, "pair", 1)
			require.NoError(b, s.Close(false))
			require.NoError(b, e.Close())
		})
	}
}
