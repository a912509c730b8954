package pool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// large is the size of a large page in these tests.
const large = 4 * page

// largePool returns a pool of a device with large pages, none of which stays ready.
func largePool(t require.TestingT, change func(*Config)) (*bench, *Pool) {
	dev := devicetest.Open(devicetest.Config{
		TotalBytes: 64 * mib, PageMinimumBytes: page, PageRecommendedBytes: page, PageLargeBytes: large,
	})
	b := &bench{dev: dev, engine: engine.New(dev, engine.Options{})}
	return b, b.pool(t, func(c *Config) {
		c.Paging, c.ReadyPages = PagingOn, -1
		if change != nil {
			change(c)
		}
	})
}

// A long block has large pages where it contains them completely, and others at its ends.
func TestLongBlockHasLargePages(t *testing.T) {
	b, p := largePool(t, nil)
	small := mustAlloc(t, p, page/2)
	require.Equal(t, 1, b.dev.Pages())
	long := mustAlloc(t, p, 10*page)
	require.Equal(t, small.Addr+device.Addr(page/2), long.Addr)
	require.Equal(t, 11*page, b.dev.HeldBytes(), "half a page more than is live, at the end of the block")
	require.Equal(t, 1+3+1+3, b.dev.Pages(), "the first page is the small block's as well")
	b.check(t, p)
	require.NoError(t, p.Free(long.Addr, nil))
	_, err := p.ReturnIdle()
	require.NoError(t, err)
	require.Equal(t, page, b.dev.HeldBytes())
	quiet(t, b, p)
}

// A block that would occupy only a part of an idle large page gets other pages in its
// place.
func TestShortBlockUsesNoPartOfALargePage(t *testing.T) {
	b, p := largePool(t, nil)
	long := mustAlloc(t, p, 2*large)
	require.Equal(t, 2, b.dev.Pages())
	require.NoError(t, p.Free(long.Addr, nil))
	require.Equal(t, 2*large, b.dev.HeldBytes())
	short := mustAlloc(t, p, 256)
	require.Equal(t, long.Addr, short.Addr)
	require.Equal(t, large+page, b.dev.HeldBytes())
	b.check(t, p)
	_, err := p.ReturnIdle()
	require.NoError(t, err)
	require.Equal(t, page, b.dev.HeldBytes(), "the short block holds one page")
	longer := mustAlloc(t, p, 3*large)
	require.Equal(t, 1+3+2+1, b.dev.Pages())
	require.NoError(t, p.Free(longer.Addr, nil))
	_, err = p.Trim(0)
	require.NoError(t, err)
	require.Equal(t, page, b.dev.HeldBytes())
	quiet(t, b, p)
}

// A batch of short blocks has no large pages, a batch of long ones has.
func TestBatchHasLargePagesOnlyForLongBlocks(t *testing.T) {
	b, p := largePool(t, nil)
	blocks := make([]device.Addr, 8)
	require.NoError(t, p.AllocBatch(Request{SizeBytes: page}, blocks))
	require.Equal(t, 8, b.dev.Pages())
	require.NoError(t, p.FreeBatch(blocks, nil))
	_, err := p.Trim(0)
	require.NoError(t, err)
	require.NoError(t, p.AllocBatch(Request{SizeBytes: large}, blocks))
	require.Equal(t, 8, b.dev.Pages())
	require.Equal(t, 8*large, b.dev.HeldBytes())
	require.NoError(t, p.FreeBatch(blocks[2:], nil))
	_, err = p.Trim(0)
	require.NoError(t, err)
	require.Equal(t, 2*large, b.dev.HeldBytes())
	b.check(t, p)
	quiet(t, b, p)
}

// A pool with a configured page size has no large pages, and preallocation uses none.
func TestLargePagesAreNotUsedWithAConfiguredPageSize(t *testing.T) {
	b, p := largePool(t, func(c *Config) { c.PhysicalPageBytes = page })
	mustAlloc(t, p, 4*large)
	require.Equal(t, 16, b.dev.Pages())
	quiet(t, b, p)
	b, p = largePool(t, func(c *Config) { c.PreAlloc, c.MaxSizeBytes = true, 4*large })
	require.Equal(t, 16, b.dev.Pages())
	quiet(t, b, p)
}

// A pool with a least size keeps it when a large page is replaced for a short block, and
// its worker ends though a part of a large page is surplus.
func TestReplacedLargePagesKeepTheLeastSize(t *testing.T) {
	b, p := largePool(t, func(c *Config) { c.MinHeldBytes = 2 * large })
	long := mustAlloc(t, p, 2*large)
	require.NoError(t, p.Free(long.Addr, nil))
	short := mustAlloc(t, p, 256)
	require.Equal(t, 2*large, b.dev.HeldBytes())
	require.NoError(t, p.Free(short.Addr, nil))
	require.NoError(t, p.SetMinHeld(large+page))
	p.ResumeReturn()
	for b.dev.HeldBytes() != large+page {
		_, err := p.ReturnIdle()
		require.NoError(t, err)
	}
	require.NoError(t, p.SetMinHeld(page))
	b.check(t, p)
	quiet(t, b, p)
}

// At the pool's bound, idle large pages are released for others, and the other way round.
func TestIdleLargePagesAreReleasedAtTheBound(t *testing.T) {
	b, p := largePool(t, func(c *Config) { c.MaxSizeBytes, c.InitialSizeBytes = 3*large, page })
	long, behind := mustAlloc(t, p, 2*large), mustAlloc(t, p, 256)
	require.NoError(t, p.Free(long.Addr, nil))
	for range 7 {
		mustAlloc(t, p, page)
		b.check(t, p)
	}
	require.NoError(t, p.Free(behind.Addr, nil))
	require.LessOrEqual(t, b.dev.HeldBytes(), 3*large)
	mustAlloc(t, p, large)
	b.check(t, p)
	quiet(t, b, p)
}

// Each call of the device fails once while large pages are created, replaced and
// released: the counters stay right, and the same call succeeds when it is repeated.
func TestEveryCallForLargePagesFailsOnce(t *testing.T) {
	for n := 1; ; n++ {
		b, p := largePool(t, nil)
		first := b.dev.Calls(devicetest.Any)
		failures := 0
		again := func(do func() error) {
			before := p.Statistics()
			err := do()
			b.check(t, p)
			if err == nil {
				return
			}
			failures++
			require.Equal(t, before.LiveBlocks.Current, p.Statistics().LiveBlocks.Current)
			require.Equal(t, before.Active.Current, p.Statistics().Active.Current)
			require.NoError(t, do(), "call %d", n)
			b.check(t, p)
		}
		var long, short Block
		alloc := func(to *Block, size uint64) func() error {
			return func() (err error) { *to, err = p.Alloc(Request{SizeBytes: size}); return err }
		}
		trim := func() error { _, err := p.Trim(0); return err }
		b.dev.FailNth(devicetest.Any, n, nil)
		again(alloc(&long, 2*large+page))
		again(func() error { return p.Free(long.Addr, nil) })
		again(alloc(&short, 256))
		again(alloc(&long, 3*large))
		again(func() error { return p.Free(long.Addr, nil) })
		again(trim)
		again(func() error { return p.Free(short.Addr, nil) })
		again(trim)
		require.Zero(t, b.dev.HeldBytes())
		quiet(t, b, p)
		if b.dev.Calls(devicetest.Any)-first < n {
			require.Zero(t, failures)
			break
		}
	}
}
