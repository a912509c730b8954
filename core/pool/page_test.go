package pool

import (
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/rangealloc"
)

const page = testPageBytes

// pagedPool returns a paged pool, whatever run this is, with a paused worker.
func pagedPool(t require.TestingT, change func(*Config)) (*bench, *Pool) {
	dev := devicetest.Open(devicetest.Config{
		TotalBytes: 64 * mib, PageMinimumBytes: page, PageRecommendedBytes: page, PageLargeBytes: testLargeBytes,
	})
	b := &bench{dev: dev, engine: engine.New(dev, engine.Options{})}
	p := b.pool(t, func(c *Config) {
		c.Paging = PagingOn
		if change != nil {
			change(c)
		}
	})
	return b, p
}

// After every operation the device holds exactly the pages that contain a part of a
// block, counted one by one: no page stays ready, and idle ones are released.
func TestHeldPagesAreThoseOfTheBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		strategy := rapid.SampledFrom(rangealloc.Names()).Draw(t, "strategy")
		b, p := pagedPool(t, func(c *Config) {
			c.ReadyPages = -1
			if c.Strategy = strategy; strategy == "fixed" {
				c.FixedBlockBytes = 24 * kib
			}
		})
		stream := newStream(t, b)
		stream.Hold()
		var live, flying, leased []Block
		size := rapid.Uint64Range(1, 24*kib)
		if strategy != "fixed" {
			size = rapid.OneOf(size, rapid.Uint64Range(1, 6*page))
		}
		take := func(t *rapid.T) Block {
			if len(live) == 0 {
				t.Skip("nothing is live")
			}
			at := rapid.IntRange(0, len(live)-1).Draw(t, "block")
			block := live[at]
			live = append(live[:at], live[at+1:]...)
			return block
		}
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(t *rapid.T) {
				live = append(live, mustAlloc(t, p, size.Draw(t, "size")))
			},
			"batch": func(t *rapid.T) {
				addrs := make([]device.Addr, rapid.IntRange(1, 12).Draw(t, "count"))
				require.NoError(t, p.AllocBatch(Request{SizeBytes: size.Draw(t, "size")}, addrs))
				for _, addr := range addrs {
					block, ok := p.Lookup(addr)
					require.True(t, ok)
					live = append(live, block)
				}
			},
			"free": func(t *rapid.T) { require.NoError(t, p.Free(take(t).Addr, nil)) },
			"freeBehindWork": func(t *rapid.T) {
				block := take(t)
				require.NoError(t, stream.HostFunction(func() {}))
				require.NoError(t, p.Free(block.Addr, stream))
				flying = append(flying, block)
			},
			"freeBatch": func(t *rapid.T) {
				var addrs []device.Addr
				for range min(3, len(live)) {
					addrs = append(addrs, take(t).Addr)
				}
				require.NoError(t, p.FreeBatch(addrs, nil))
			},
			"complete frees": func(*rapid.T) {
				for stream.Step(100) > 0 {
				}
				p.CompleteFrees()
				flying = nil
			},
			"lease": func(t *rapid.T) {
				to := make([]device.Addr, rapid.IntRange(1, 12).Draw(t, "count"))
				granules := (size.Draw(t, "size") + 255) / 256
				n, err := p.Lease(granules*256, nil, to, nil)
				require.NoError(t, err)
				for _, addr := range to[:n] {
					l, ok := p.heap.locate(addr)
					require.True(t, ok)
					leased = append(leased, Block{Addr: addr, SizeBytes: l.Size})
				}
			},
			"giveBack": func(*rapid.T) {
				half := leased[len(leased)/2:]
				leased = leased[:len(leased)/2]
				addrs := make([]device.Addr, 0, len(half))
				for _, block := range half {
					addrs = append(addrs, block.Addr)
				}
				require.NoError(t, p.ReturnLeased(addrs, nil, nil))
			},
			"reset": func(t *rapid.T) {
				require.NoError(t, p.Reset(nil))
				live = nil
			},
			"": func(t *rapid.T) {
				_, err := p.ReturnIdle()
				require.NoError(t, err)
				touched := map[uint64]bool{}
				for _, block := range slices.Concat(live, flying, leased) {
					for at := uint64(block.Addr) / page; at*page < uint64(block.Addr)+block.SizeBytes; at++ {
						touched[at] = true
					}
				}
				require.Equal(t, uint64(len(touched))*page, b.dev.HeldBytes())
				require.Equal(t, b.dev.HeldBytes(), b.dev.MappedBytes())
				b.check(t, p)
			},
		})
		stream.Release()
		require.NoError(t, stream.Close())
		b.closeAll(t, p)
	})
}

// A block that is freed and allocated again at once needs no driver call.
func TestReallocatedBlockMapsNothing(t *testing.T) {
	b, p := pagedPool(t, nil)
	mustAlloc(t, p, 256)
	block := mustAlloc(t, p, 20*mib)
	before := b.dev.Calls(devicetest.Any)
	for range 10 {
		require.NoError(t, p.Free(block.Addr, nil))
		block = mustAlloc(t, p, 20*mib)
	}
	require.Equal(t, before+10, b.dev.Calls(devicetest.Any), "only the stream was queried")
	quiet(t, b, p)
}

// The worker releases what stays idle, except a few pages, and then ends.
func TestWorkerReleasesIdlePages(t *testing.T) {
	b, p := pagedPool(t, func(c *Config) { c.ReadyPages = 3 })
	mustAlloc(t, p, page)
	block := mustAlloc(t, p, 40*page)
	require.NoError(t, p.Free(block.Addr, nil))
	require.Equal(t, 41*page, b.dev.HeldBytes(), "a paused worker releases no page")
	p.ResumeReturn()
	for b.dev.HeldBytes() != 4*page {
		runtime.Gosched()
	}
	p.PauseReturn()
	b.check(t, p)
	p.ResumeReturn()
	require.NoError(t, p.Free(mustAlloc(t, p, 9*page).Addr, nil), "a worker that runs is no hindrance to the end")
	b.closeAll(t, p)
}

func TestWorkerKeepsTheLeastSize(t *testing.T) {
	b, p := pagedPool(t, func(c *Config) {
		c.PreAlloc, c.MaxSizeBytes, c.ReadyPages = true, 16*page, -1
	})
	require.Equal(t, 16*page, b.dev.HeldBytes())
	released, err := p.ReturnIdle()
	require.NoError(t, err)
	require.Zero(t, released, "preallocated pages stay")
	released, err = p.Trim(0)
	require.NoError(t, err)
	require.Equal(t, 16*page, released)
	require.NoError(t, p.SetMinHeld(2*page))
	block := mustAlloc(t, p, 5*page)
	require.NoError(t, p.Free(block.Addr, nil))
	released, err = p.Trim(0)
	require.NoError(t, err)
	if testLargeBytes == 0 {
		require.Equal(t, 3*page, released)
	} else {
		require.Equal(t, page, released, "a large page of four pages is released as a whole")
	}
	quiet(t, b, p)
}

func TestFreeReleasesPagesAboveTheThreshold(t *testing.T) {
	b, p := pagedPool(t, func(c *Config) { c.ReleaseThresholdBytes = 4 * page })
	a, c := mustAlloc(t, p, 4*page), mustAlloc(t, p, 4*page)
	require.NoError(t, p.Free(c.Addr, nil))
	require.Equal(t, 4*page, b.dev.HeldBytes())
	require.NoError(t, p.Free(a.Addr, nil))
	require.Equal(t, 4*page, b.dev.HeldBytes(), "not above the threshold")
	quiet(t, b, p)
}

// If the bound leaves no space for further pages, idle ones elsewhere are released. If
// there are none, a place with mapped pages is used.
func TestIdlePagesAreReusedAtTheBound(t *testing.T) {
	b, p := pagedPool(t, func(c *Config) { c.MaxSizeBytes, c.InitialSizeBytes = 8*page, page })
	low, high := mustAlloc(t, p, 3*page), mustAlloc(t, p, 4*page)
	small := mustAlloc(t, p, 256)
	require.NoError(t, p.Free(low.Addr, nil))
	mustAlloc(t, p, 3*page)
	require.NoError(t, p.Free(high.Addr, nil))
	require.Equal(t, 8*page, b.dev.HeldBytes())
	beyond := mustAlloc(t, p, 4*page+256)
	require.Greater(t, beyond.Addr, small.Addr, "the block did not fit into the free run, and has the pages of the run")
	require.Equal(t, 8*page, b.dev.HeldBytes())
	_, err := p.Alloc(Request{SizeBytes: 2 * page})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.NoError(t, p.Free(beyond.Addr, nil))
	require.NoError(t, p.Free(small.Addr, nil))
	_, err = p.Trim(0)
	require.NoError(t, err)
	quiet(t, b, p)
}

// If the system has no further mapping, a place with mapped pages is used. If there is
// none, the error names what was exhausted, and nothing is lost.
func TestMappedPlaceIsUsedWithoutFurtherMappings(t *testing.T) {
	full := device.Errorf(device.CodeResourceExhausted, "test", "no further mapping")
	for _, call := range []devicetest.Call{devicetest.Map, devicetest.SetAccess} {
		b, p := pagedPool(t, nil)
		low := mustAlloc(t, p, 3*page+256)
		mustAlloc(t, p, page/2)
		require.NoError(t, p.Free(low.Addr, nil))
		_, err := p.ReturnIdle()
		require.NoError(t, err)
		b.dev.FailNth(call, 1, full)
		block, err := p.Alloc(Request{SizeBytes: 200})
		require.NoError(t, err, "%s", call)
		require.Equal(t, uint64(low.Addr)/page+3, uint64(block.Addr)/page, "in front of the block that is live")
		before := p.Statistics()
		b.dev.FailNth(call, 1, full)
		_, err = p.Alloc(Request{SizeBytes: page})
		require.ErrorIs(t, err, device.CodeResourceExhausted, "%s", call)
		require.Equal(t, before.Reserved.Current, p.Statistics().Reserved.Current)
		b.check(t, p)
		mustAlloc(t, p, page)
		quiet(t, b, p)
	}
}

// The search for mapped memory respects the alignment, and takes the shortest range.
func TestScarceMemoryUsesTheShortestMappedPlace(t *testing.T) {
	for _, strategy := range rangealloc.Names() {
		if strategy == "fixed" || strategy == "arena" || strategy == "buddy" {
			continue
		}
		b, p := pagedPool(t, func(c *Config) {
			c.MaxSizeBytes, c.InitialSizeBytes, c.Strategy, c.ReadyPages = 4*page, page, strategy, -1
		})
		hole := mustAlloc(t, p, 2*page-4*kib)
		mustAlloc(t, p, page+4*kib)
		mustAlloc(t, p, page)
		require.NoError(t, p.Free(hole.Addr, nil))
		require.NoError(t, p.SetLimit(3*page))
		require.Equal(t, 3*page, b.dev.HeldBytes(), strategy)
		block, err := p.Alloc(Request{SizeBytes: 8 * kib, AlignmentBytes: 8 * kib})
		require.NoError(t, err, strategy)
		require.Zero(t, uint64(block.Addr)%(8*kib), strategy)
		require.Equal(t, 3*page, b.dev.HeldBytes(), strategy)
		quiet(t, b, p)
	}
}

// Two calls fail at a time: what was mapped cannot be unmapped.
func TestStuckPagesAreReleasedLater(t *testing.T) {
	for _, later := range []string{"alloc", "trim", "close"} {
		b, p := pagedPool(t, nil)
		mustAlloc(t, p, page)
		b.dev.FailNth(devicetest.SetAccess, 1, nil)
		b.dev.FailNth(devicetest.Unmap, 1, nil)
		before := p.Statistics()
		_, err := p.Alloc(Request{SizeBytes: 2 * page})
		require.ErrorIs(t, err, device.CodeDevice)
		b.check(t, p)
		after := p.Statistics()
		require.Equal(t, before.Active, after.Active)
		require.Equal(t, 3*page, after.Reserved.Current)
		switch later {
		case "alloc":
			mustAlloc(t, p, 2*page)
			require.Equal(t, 3*page, b.dev.HeldBytes())
		case "trim":
			released, err := p.Trim(0)
			require.NoError(t, err)
			require.Equal(t, 2*page, released)
		}
		quiet(t, b, p)
	}
}

func TestInvalidSettingsOfPagesAreRejected(t *testing.T) {
	for name, c := range map[string]struct {
		code   device.Code
		device devicetest.Config
		change func(*Config)
	}{
		"no virtual memory": {device.CodeUnsupported, devicetest.Config{NoVirtualMemory: true}, func(*Config) {}},
		"odd page":          {device.CodeInvalidPageSize, devicetest.Config{}, func(c *Config) { c.PhysicalPageBytes = 3 * page }},
		"small page":        {device.CodeInvalidPageSize, devicetest.Config{}, func(c *Config) { c.PhysicalPageBytes = page / 2 }},
		"pool too small":    {device.CodeInvalidConfig, devicetest.Config{}, func(c *Config) { c.MaxSizeBytes, c.PhysicalPageBytes = mib, 2*mib }},
		"no addresses": {device.CodeOutOfVirtualMemory, devicetest.Config{VirtualBytes: page},
			func(c *Config) { c.PreAlloc, c.MaxSizeBytes = true, 2*mib }},
	} {
		b := &bench{dev: devicetest.Open(c.device)}
		b.engine = engine.New(b.dev, engine.Options{})
		config := DefaultConfig()
		config.Paging, config.InitialSizeBytes = PagingOn, mib
		c.change(&config)
		_, err := New(b.engine, config)
		require.ErrorIs(t, err, c.code, name)
		b.closeAll(t)
	}
	for name, c := range map[string]struct {
		want   uint64
		change func(*Config)
	}{
		"of the device":      {2 * mib, func(*Config) {}},
		"small pool":         {0, func(c *Config) { c.MaxSizeBytes, c.InitialSizeBytes = 63*mib, mib }},
		"pool that stays":    {0, func(c *Config) { c.AutoExpansion, c.InitialSizeBytes = false, mib }},
		"small pages for it": {page, func(c *Config) { c.MaxSizeBytes, c.InitialSizeBytes, c.PhysicalPageBytes = 63*mib, mib, page }},
		"off":                {0, func(c *Config) { c.Paging = PagingOff }},
	} {
		b := &bench{dev: devicetest.Open(devicetest.Config{TotalBytes: 1 << 30})}
		b.engine = engine.New(b.dev, engine.Options{})
		config := DefaultConfig()
		config.Paging = PagingAuto
		c.change(&config)
		p, err := New(b.engine, config)
		require.NoError(t, err)
		require.Equal(t, c.want, p.PhysicalPageBytes(), name)
		b.closeAll(t, p)
	}
}

// The largest free block is limited by a bound that was lowered below what the pool
// holds: idle pages elsewhere are not combined for a longer one.
func TestLargestFreeRespectsALoweredBound(t *testing.T) {
	b, p := pagedPool(t, func(c *Config) { c.ReadyPages = KeepAllPages })
	low := mustAlloc(t, p, 3*page)
	mustAlloc(t, p, page)
	high := mustAlloc(t, p, 8*page)
	require.NoError(t, p.SetLimit(4*page))
	require.NoError(t, p.Free(low.Addr, nil))
	require.NoError(t, p.Free(high.Addr, nil))
	require.Equal(t, 12*page, p.HeldBytes(), "the held memory stays")
	largest := p.Statistics().LargestFreeBytes
	require.Equal(t, 4*page, largest)
	_, err := p.Alloc(Request{SizeBytes: 9 * page})
	require.ErrorIs(t, err, device.CodeOutOfMemory, "the request needs pages that a sibling holds")
	mustAlloc(t, p, largest)
	quiet(t, b, p)
}

// A lowered limit of the device counts like the bound of the pool.
func TestLargestFreeIsWithinALoweredDeviceLimit(t *testing.T) {
	b, p := pagedPool(t, func(c *Config) { c.ReadyPages = KeepAllPages })
	low := mustAlloc(t, p, 3*page)
	mustAlloc(t, p, page)
	high := mustAlloc(t, p, 8*page)
	require.NoError(t, b.engine.SetLimit(4*page))
	require.NoError(t, p.Free(low.Addr, nil))
	require.NoError(t, p.Free(high.Addr, nil))
	require.Equal(t, 12*page, p.HeldBytes(), "the held memory stays")
	largest := p.Statistics().LargestFreeBytes
	require.Equal(t, 4*page, largest)
	_, err := p.Alloc(Request{SizeBytes: 9 * page})
	require.ErrorIs(t, err, device.CodeOutOfMemory, "the request needs more pages of the device")
	mustAlloc(t, p, largest)
	quiet(t, b, p)
}
