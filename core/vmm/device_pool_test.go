package vmm_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm"
	"ferrum_mem/drivers/host"
	"ferrum_mem/drivers/testdevice"
)

const mib = uint64(1) << 20

func TestMain(m *testing.M) {
	os.Exit(testdevice.Main(m, map[string]string{
		"TestOnDeviceMemoryGoesBackToTheSystem": "a device puts memory behind pages when it makes them",
	}))
}

// onHost returns an engine on host memory.
func onHost(t require.TestingT, bytes uint64) (device.Device, *engine.Engine) {
	driver, err := host.New(host.Config{MemoryBytes: bytes})
	require.NoError(t, err)
	dev, err := driver.Open(0)
	require.NoError(t, err)
	return dev, engine.New(dev, engine.Options{})
}

// ground is a device for suites, with an engine.
type ground struct {
	dev    device.Device
	engine *engine.Engine
	bytes  *testdevice.Bytes
	// page is the page size of most tests.
	page uint64
}

func onDevice(t require.TestingT, bytes uint64) *ground {
	dev := testdevice.Open(t, bytes)
	return &ground{dev, engine.New(dev, engine.Options{}), testdevice.NewBytes(dev), testdevice.PageBytes(dev, 64<<10)}
}

// close checks that nothing is left.
func (g *ground) close(t require.TestingT) {
	stats := g.engine.Statistics()
	require.NoError(t, stats.Check())
	require.Zero(t, stats.Reserved.Current)
	require.Zero(t, g.engine.Asleep())
	require.NoError(t, g.engine.Close())
}

// holds checks that every byte of a range has one value.
func (g *ground) holds(t require.TestingT, addr device.Addr, value byte, size uint64) {
	found, differs, err := g.bytes.FirstOther(addr, value, size)
	require.NoError(t, err)
	require.False(t, differs, "%#x is to hold %d: %+v", uint64(addr), value, found)
}

var backings = []device.Backing{device.BackingMovable, device.BackingPrivate}

// Random programs on real memory, with the worker: live memory keeps what was written,
// and a freed page belongs to no range.
func TestOnDevicePoolKeepsBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := onDevice(t, 256*mib)
		page := g.page
		p, err := vmm.NewPool(g.engine, vmm.Config{
			Name: "p", CapacityBytes: 48 * page, PageBytes: page, LimitBytes: 32 * page, ReadyPages: 2,
			Backing: rapid.SampledFrom(backings).Draw(t, "backing"),
		})
		require.NoError(t, err)
		var marks [48]byte
		look := func(t *rapid.T) {
			for at, mark := range marks {
				require.Equal(t, mark != 0, p.IsMapped(uint64(at)*page, page))
				if mark != 0 {
					found, differs, err := g.bytes.Edges(p.BaseAddress()+device.Addr(uint64(at)*page), mark, page)
					require.NoError(t, err)
					require.False(t, differs, "page %d: %+v", at, found)
				}
			}
		}
		anyRun := func(t *rapid.T) (first, pages uint64) {
			first = rapid.Uint64Range(0, 47).Draw(t, "first")
			return first, rapid.Uint64Range(1, min(8, 48-first)).Draw(t, "pages")
		}
		next := byte(0)
		t.Repeat(map[string]func(*rapid.T){
			"allocate": func(t *rapid.T) {
				first, pages := anyRun(t)
				addr, err := p.Alloc(first*page, pages*page)
				if err != nil {
					require.Contains(t, []device.Code{device.CodeAlreadyMapped, device.CodeOutOfPhysicalMemory}, device.CodeOf(err))
					return
				}
				next = next%255 + 1
				require.NoError(t, g.bytes.Fill(addr, next, pages*page))
				for at := first; at < first+pages; at++ {
					marks[at] = next
				}
			},
			"deallocate": func(t *rapid.T) {
				first, pages := anyRun(t)
				for at := first; at < first+pages; at++ {
					if marks[at] != 0 {
						g.holds(t, p.BaseAddress()+device.Addr(at*page), marks[at], page)
					}
				}
				if err := p.Free(first*page, pages*page, nil); err != nil {
					require.ErrorIs(t, err, device.CodeNotMapped)
					return
				}
				clear(marks[first : first+pages])
			},
			"trim": func(t *rapid.T) {
				_, err := p.Physical().Trim(0)
				require.NoError(t, err)
			},
			"compact": func(t *rapid.T) {
				_, err := p.Compact()
				require.NoError(t, err)
			},
			"": look,
		})
		require.NoError(t, p.Close(true))
		g.close(t)
	})
}

// The memory of the process, as the system counts it, follows the live memory.
func TestOnDeviceMemoryGoesBackToTheSystem(t *testing.T) {
	testdevice.HostOnly(t)
	for _, backing := range backings {
		dev, e := onHost(t, 256*mib)
		virtual := dev.(device.VirtualMemory)
		p, err := vmm.NewPool(e, vmm.Config{Name: "p", CapacityBytes: 1 << 40, Backing: backing, ReadyPages: -1})
		require.NoError(t, err)
		require.Equal(t, virtual.Granularity().RecommendedBytes, p.PageBytes())
		size := 8 * p.PageBytes()
		const offset = uint64(1) << 39
		addr, err := p.Alloc(offset, size)
		require.NoError(t, err)
		require.NoError(t, dev.(device.HostVisible).FillNow(addr, 1, size))
		resident, err := virtual.Resident(addr, size)
		require.NoError(t, err)
		require.Equal(t, size, resident)
		require.NoError(t, p.Free(offset, size, nil))
		released, err := p.Physical().Trim(0)
		require.NoError(t, err)
		require.Equal(t, size, released)
		require.Zero(t, p.Stats().HeldBytes)
		require.Less(t, p.Stats().TableBytes, uint64(32)<<20)
		require.NoError(t, p.Close(false))
		require.NoError(t, e.Close())
	}
}
