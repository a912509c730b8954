package library_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/vmm"
)

const page = vmm.MinPageBytes

// vpool creates a virtual pool of 16 MiB with the smallest pages, without ready pages.
func (b *bench) vpool(dev uint64) uint64 {
	handle, err := b.VPoolCreate(dev, vmm.Config{Name: "elastic", CapacityBytes: 16 << 20, PageBytes: page, ReadyPages: -1})
	require.NoError(b.t, err)
	return handle
}

func (b *bench) mapped(vpool, offset, size uint64) device.Addr {
	addr, err := at(b.VPool, vpool).AllocWith(library.RangeRequest{
		AllocRequest: vmm.AllocRequest{OffsetBytes: offset, SizeBytes: size, Tag: "kv"},
	})
	require.NoError(b.t, err)
	return addr
}

func TestVPoolMapsAndUnmaps(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	sizes, err := at(b.Device, dev).PageSizes()
	require.NoError(t, err)
	require.GreaterOrEqual(t, sizes.MinimumBytes, uint64(page))
	v := b.vpool(dev)
	addr := b.mapped(v, 100, 2*page)
	stats := at(b.VPool, v).Info()
	require.Equal(t, stats.BaseAddress+100, addr)
	require.EqualValues(t, 3, stats.MappedPages)
	is := at(b.VPool, v).IsMapped(library.ByteRange{SizeBytes: 3 * page})
	require.True(t, is)
	counters := at(b.VPool, v).Statistics()
	require.EqualValues(t, 2*page, counters.Requested.Current)
	requireCode(t, device.CodeBusy, at(b.VPool, v).Destroy(false))
	requireCode(t, device.CodeInvalidOffset, at(b.VPool, v).Free(library.ByteRange{OffsetBytes: 100, SizeBytes: page}, 0))
	require.NoError(t, at(b.VPool, v).Free(library.ByteRange{OffsetBytes: 100, SizeBytes: 2 * page}, 0))
	released, err := at(b.VPool, v).Trim(2*page + 1)
	require.NoError(t, err)
	require.EqualValues(t, page, released, "two pages fit into the bytes to keep")
	report, err := at(b.VPool, v).Compact()
	require.NoError(t, err)
	require.EqualValues(t, 2*page, report.ReleasedBytes)
	require.NoError(t, at(b.VPool, v).SetLimit(page))
	_, err = at(b.VPool, v).Alloc(library.ByteRange{SizeBytes: 2 * page})
	requireCode(t, device.CodeOutOfPhysicalMemory, err)
	require.NoError(t, at(b.VPool, v).Destroy(false))
	requireCode(t, device.CodeInvalidHandle, do(b.VPool, v, func(o *library.VPool) error { return o.Destroy(false) }))
}

func TestVPoolFreesWaitForTheirStream(t *testing.T) {
	b := startBench(t)
	dev, other := b.open("test:0"), b.open("test:1")
	v := b.vpool(dev)
	b.mapped(v, 0, page)
	foreign, err := b.StreamCreate(other)
	require.NoError(t, err)
	whole := library.ByteRange{SizeBytes: page}
	requireCode(t, device.CodeInvalidArgument, at(b.VPool, v).Free(whole, foreign))
	stream, err := b.StreamDefault(dev)
	require.NoError(t, err)
	queue := b.device(0).Default()
	queue.Hold()
	require.NoError(t, made(b).HostFunction(manager.StreamHandle(stream), func() {}))
	require.NoError(t, at(b.VPool, v).Free(whole, stream))
	requireCode(t, device.CodeTimeout, at(b.VPool, v).Synchronize(0))
	stats := at(b.VPool, v).Info()
	require.EqualValues(t, 1, stats.RetiringPages)
	queue.Release()
	require.NoError(t, at(b.VPool, v).Synchronize(device.Forever))
	require.NoError(t, do(b.VPool, v, func(o *library.VPool) error { o.Pause(); return nil }))
	require.NoError(t, do(b.VPool, v, func(o *library.VPool) error { o.Resume(); return nil }))
}

func TestVPoolNeedsVirtualMemory(t *testing.T) {
	b := newBench(t)
	b.driver.Driver = devicetest.New(devicetest.Config{Devices: 2, TotalBytes: capacity, NoVirtualMemory: true})
	require.NoError(t, b.Init(nil))
	dev := b.open("test:0")
	_, err := at(b.Device, dev).PageSizes()
	requireCode(t, device.CodeUnsupportedDevice, err)
	_, err = b.VPoolCreate(dev, vmm.Config{CapacityBytes: page})
	requireCode(t, device.CodeUnsupportedDevice, err)
	info := at(b.Device, dev).Info()
	require.Zero(t, info.Capabilities&library.CapabilityVirtualMemory)
	require.NoError(t, at(b.Device, dev).Close(false))
	require.NoError(t, b.Shutdown(false))
}

func TestVPoolsAreInTheReports(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	v := b.vpool(dev)
	addr := b.mapped(v, 5, 10)
	require.Equal(t, map[string]int{"device": 1, "vpool": 1, "range": 1}, b.leaks().kinds())
	var found bool
	for _, leak := range b.leaks().Leaks {
		if leak.Kind == "range" {
			found = true
			require.EqualValues(t, addr-5, leak.Address)
			require.EqualValues(t, 10, leak.Bytes)
			require.Equal(t, "kv", leak.Tag)
			require.Equal(t, v, leak.Handle)
		}
	}
	require.True(t, found)
	owner, err := at(b.Device, dev).Owner(addr + 3)
	require.NoError(t, err)
	require.Equal(t, v, owner.VPool)
	require.Equal(t, pool.BlockLive, owner.State)
	require.Equal(t, "elastic", owner.PoolName)
	owner, err = at(b.Device, dev).Owner(addr + page)
	require.NoError(t, err)
	require.Equal(t, pool.BlockFree, owner.State)
	text, err := b.SnapshotJSON()
	require.NoError(t, err)
	var snapshot struct {
		Devices []struct {
			VirtualPools []struct {
				Name string
				Info map[string]any
			} `json:"virtual_pools"`
		}
	}
	require.NoError(t, json.Unmarshal(text, &snapshot))
	info := snapshot.Devices[0].VirtualPools[0].Info
	require.EqualValues(t, 1, info["mapped_pages"])
	require.InDelta(t, 1-1.0/256, info["unmapped_share"], 1e-6)
	require.NotContains(t, info, "fragmentation_ratio")

	err = at(b.Device, dev).Close(false)
	requireCode(t, device.CodeBusy, err)
	require.ErrorContains(t, err, "1 virtual pool and 1 block")
	require.NoError(t, at(b.Device, dev).Close(true))
	require.Empty(t, b.leaks().Leaks)
}

// If the device fails to unmap, the pool stays; the next attempt destroys it.
func TestVPoolThatCannotBeClosedStays(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	v := b.vpool(dev)
	b.mapped(v, 0, page)
	b.device(0).FailNth(devicetest.Unmap, 1, device.CodeUnmappingFailed)
	requireCode(t, device.CodeUnmappingFailed, at(b.VPool, v).Destroy(true))
	at(b.VPool, v).Info()
	require.NoError(t, at(b.VPool, v).Destroy(true))
}
