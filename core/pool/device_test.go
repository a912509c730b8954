package pool_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/drivers/testdevice"
)

// These tests run pools with pages of real memory, on the host or on a device. A block
// keeps its bytes until it is freed, whatever is allocated and freed beside it, and the
// system has as much memory for the pool as its blocks cover.

// hostPage is the page size of the tests on the host.
const hostPage = 64 << 10

func TestMain(m *testing.M) {
	if testdevice.OnHost() {
		os.Exit(pool.RunThrice(m))
	}
	os.Exit(testdevice.Main(m, nil))
}

type realBench struct {
	dev    device.Device
	engine *engine.Engine
	bytes  *testdevice.Bytes
	page   uint64
	// rounds is the number of rounds of each of several threads. It is small where a
	// check needs a copy.
	rounds int
}

func benchOn(dev device.Device) *realBench {
	return &realBench{
		dev: dev, engine: engine.New(dev, engine.Options{}), bytes: testdevice.NewBytes(dev),
		page: testdevice.PageBytes(dev, hostPage), rounds: testdevice.Times(3000),
	}
}

func openReal(t require.TestingT) *realBench { return benchOn(testdevice.Open(t, 64<<20)) }

func (b *realBench) pool(t require.TestingT, strategy string, ready int) *pool.Pool {
	c := pool.DefaultConfig()
	c.Paging, c.PhysicalPageBytes, c.ReadyPages, c.Strategy = pool.PagingOn, b.page, ready, strategy
	if strategy == "fixed" {
		c.FixedBlockBytes = 24 << 10
	}
	p, err := pool.New(b.engine, c)
	if err != nil {
		require.ErrorIs(t, err, device.CodeUnsupported)
		return nil
	}
	return p
}

func (b *realBench) close(t require.TestingT, pools ...*pool.Pool) {
	for _, p := range pools {
		require.NoError(t, p.Close(true))
	}
	require.Zero(t, b.engine.Statistics().Reserved.Current)
	require.NoError(t, b.engine.Close())
}

// filled is a live block and the value of all its bytes.
type filled struct {
	pool.Block
	value byte
}

func (b *realBench) fill(t require.TestingT, block *filled) {
	require.NoError(t, b.bytes.Fill(block.Addr, block.value, block.SizeBytes))
}

// look checks a block. all also checks the middle where that is expensive.
func (b *realBench) look(t require.TestingT, block *filled, all bool) {
	look := b.bytes.Edges
	if all {
		look = b.bytes.FirstOther
	}
	other, wrong, err := look(block.Addr, block.value, block.SizeBytes)
	require.NoError(t, err)
	require.False(t, wrong, "%#x+%d is %d, was filled with %d", uint64(block.Addr), other.OffsetBytes, other.Found, block.value)
}

// resident returns how much memory the system has for the pages of the blocks.
func (b *realBench) resident(t require.TestingT, live []filled) (bytes uint64) {
	seen := map[device.Addr]bool{}
	for _, block := range live {
		size := device.Addr(b.page)
		for page := block.Addr &^ (size - 1); page < block.Addr+device.Addr(block.SizeBytes); page += size {
			if !seen[page] {
				seen[page] = true
				n, err := b.dev.(device.VirtualMemory).Resident(page, b.page)
				require.NoError(t, err)
				bytes += n
			}
		}
	}
	require.LessOrEqual(t, bytes, uint64(len(seen))*b.page)
	return bytes
}

func TestOnDevicePagesKeepBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := openReal(t)
		strategy := rapid.SampledFrom(rangealloc.Names()).Draw(t, "strategy")
		p := b.pool(t, strategy, -1)
		if p == nil {
			t.Skip("the system has no virtual memory for the host device")
		}
		var live []filled
		next := byte(0)
		size := rapid.Uint64Range(1, 24<<10)
		if strategy != "fixed" {
			size = rapid.OneOf(size, rapid.Uint64Range(1, 6*b.page))
		}
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(t *rapid.T) {
				block, err := p.Alloc(pool.Request{SizeBytes: size.Draw(t, "size")})
				require.NoError(t, err)
				next++
				live = append(live, filled{block, next})
				b.fill(t, &live[len(live)-1])
			},
			"free": func(t *rapid.T) {
				if len(live) == 0 {
					t.Skip("nothing is live")
				}
				at := rapid.IntRange(0, len(live)-1).Draw(t, "block")
				b.look(t, &live[at], true)
				require.NoError(t, p.Free(live[at].Addr, nil))
				live = append(live[:at], live[at+1:]...)
			},
			"trim": func(t *rapid.T) {
				_, err := p.Trim(0)
				require.NoError(t, err)
			},
			"": func(t *rapid.T) {
				for i := range live {
					b.look(t, &live[i], false)
				}
			},
		})
		_, err := p.ReturnIdle()
		require.NoError(t, err)
		require.LessOrEqual(t, b.resident(t, live), p.HeldBytes())
		require.Equal(t, p.HeldBytes(), p.Info().MappedPages*b.page)
		b.close(t, p)
	})
}

// Threads allocate, fill, check and free while the worker releases pages and another
// thread trims.
func TestOnDeviceThreadsKeepBytes(t *testing.T) {
	b := openReal(t)
	p := b.pool(t, rangealloc.Default, 0)
	if p == nil {
		t.Skip("the system has no virtual memory for the host device")
	}
	var threads sync.WaitGroup
	failures := make(chan error, 4)
	for thread := range 4 {
		threads.Add(1)
		go func() {
			defer threads.Done()
			failures <- b.work(p, byte(thread+1))
		}()
	}
	done := make(chan struct{})
	go func() { threads.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
			_, err := p.Trim(0)
			require.NoError(t, err)
		}
	}
	for range 4 {
		require.NoError(t, <-failures)
	}
	_, err := p.Trim(0)
	require.NoError(t, err)
	require.Zero(t, p.HeldBytes())
	b.close(t, p)
}

func (b *realBench) work(p *pool.Pool, value byte) error {
	r := rand.New(rand.NewPCG(uint64(value), 7))
	var live []pool.Block
	for range b.rounds {
		if len(live) > 20 || len(live) > 0 && r.IntN(2) == 0 {
			at := r.IntN(len(live))
			block := live[at]
			if _, wrong, err := b.bytes.FirstOther(block.Addr, value, block.SizeBytes); err != nil || wrong {
				return fmt.Errorf("%#x: other bytes %v, %w", uint64(block.Addr), wrong, err)
			}
			if err := p.Free(block.Addr, nil); err != nil {
				return err
			}
			live = append(live[:at], live[at+1:]...)
			continue
		}
		block, err := p.Alloc(pool.Request{SizeBytes: 1 + r.Uint64N(3*b.page)})
		if err != nil {
			return err
		}
		if err := b.bytes.Fill(block.Addr, value, block.SizeBytes); err != nil {
			return err
		}
		live = append(live, block)
	}
	for _, block := range live {
		if err := p.Free(block.Addr, nil); err != nil {
			return err
		}
	}
	return nil
}
