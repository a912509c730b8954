package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
)

// largeCost is the number of calls in one step that create, map, make accessible, unmap and
// release memory.
type largeCost struct{ create, mapped, access, unmap, release int }

// A block of 512 MiB needs a sixteenth of the calls that pages of the granularity would
// need. The library unmaps and releases each handle as a whole, because the driver rejects
// a part.
func TestALongBlockUsesLargePages(t *testing.T) {
	const mib, long = uint64(1) << 20, uint64(512) << 20
	o, sim := open(t, 0), newSimulator(t)
	require.EqualValues(t, 32*mib, o.Granularity().LargeBytes)
	c := pool.DefaultConfig()
	c.Paging, c.ReadyPages, c.InitialSizeBytes = pool.PagingOn, noneReady, 2*mib
	p, err := pool.New(engine.New(o, engine.Options{}), c)
	require.NoError(t, err)
	p.PauseReturn()
	var block, small pool.Block
	alloc := func(to *pool.Block, size uint64) func() error {
		return func() (err error) { *to, err = p.Alloc(pool.Request{SizeBytes: size}); return err }
	}
	free := func() error { return p.Free(block.Addr, nil) }
	trim := func() error { _, err := p.Trim(0); return err }
	for _, step := range []struct {
		name string
		do   func() error
		want largeCost
		held uint64
	}{
		{"long", alloc(&block, long), largeCost{create: 16, mapped: 16, access: 1}, long},
		{"free", free, largeCost{}, long},
		{"long again", alloc(&block, long), largeCost{}, long},
		{"free again", free, largeCost{}, long},
		{"trim", trim, largeCost{unmap: 1, release: 16}, 0},
		{"short", alloc(&small, mib), largeCost{create: 1, mapped: 1, access: 1}, 2 * mib},
		{"long behind it", alloc(&block, long), largeCost{create: 15 + 16, mapped: 15 + 16, access: 1}, long + 2*mib},
		{"free behind it", free, largeCost{}, long + 2*mib},
		{"short in its place", alloc(&block, 20*mib), largeCost{}, long + 2*mib},
		{"short in place of a part", alloc(&small, 20*mib), largeCost{create: 5, mapped: 5, access: 1, unmap: 1, release: 1}, long - 20*mib},
	} {
		made := sim.callsOf(func() { require.NoError(t, step.do(), step.name) })
		require.Equal(t, step.want, largeCost{
			made["cuMemCreate"], made["cuMemMap"], made["cuMemSetAccess"], made["cuMemUnmap"], made["cuMemRelease"],
		}, step.name)
		require.Equal(t, step.held, p.HeldBytes(), step.name)
	}
	one := device.Pattern{Value: 7, WidthBytes: 1}
	require.NoError(t, o.DefaultStream().Fill(small.Addr, one, small.SizeBytes))
	require.NoError(t, o.DefaultStream().Synchronize(device.Forever))
	require.NoError(t, p.Close(true))
	require.NoError(t, o.Close())
	sim.clean()
}
