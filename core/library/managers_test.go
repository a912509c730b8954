package library_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
)

func (b *bench) manager(dev uint64) uint64 {
	config := manager.DefaultConfig()
	config.PoolConfigs[manager.General] = *smallPool()
	handle, err := b.ManagerCreate(dev, &config)
	require.NoError(b.t, err)
	return handle
}

func TestHandleInfoGivesHandles(t *testing.T) {
	b := startBench(t)
	here, there := b.open("test:0"), b.open("test:1")
	first, second := b.manager(here), b.manager(there)
	for m, dev := range map[uint64]uint64{first: here, second: there} {
		h, err := b.ManagerAllocWith(m, manager.Request{Type: manager.Cache, SizeBytes: 1000, AlignmentBytes: 4096, Tag: "kv"})
		require.NoError(t, err)
		info, err := b.MemoryGetHandleInfo(h)
		require.NoError(t, err)
		require.Zero(t, uint64(info.Addr)%4096)
		require.GreaterOrEqual(t, info.AlignmentBytes, uint64(4096))
		require.Positive(t, info.AllocatedAt)
		require.Equal(t, library.HandleInfo{
			Memory: h, Manager: m, Device: dev, Type: manager.Cache, SizeBytes: 1000, AllocatedBytes: 1024,
			AlignmentBytes: info.AlignmentBytes, Addr: info.Addr, AllocatedAt: info.AllocatedAt, Tag: "kv",
		}, info)
		require.NoError(t, b.MemoryFree(h))
		_, err = b.MemoryGetHandleInfo(h)
		requireCode(t, device.CodeInvalidHandle, err)
		requireCode(t, device.CodeInvalidHandle, b.MemoryFree(h))
	}
}

func TestAllocationTimeCountsFromTheStart(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	for range 2 {
		h, err := b.ManagerAlloc(b.manager(dev), 1)
		require.NoError(t, err)
		info, err := b.MemoryGetHandleInfo(h)
		require.NoError(t, err)
		text, err := b.SnapshotJSON()
		require.NoError(t, err)
		uptime := decode(t, text)["uptime_ns"].(float64)
		require.LessOrEqual(t, float64(info.AllocatedAt), uptime)
		require.NoError(t, b.Shutdown(true))
		require.NoError(t, b.Init(nil))
		dev = b.open("test:0")
	}
}

func TestCopiesBetweenDevicesByHandle(t *testing.T) {
	b := startBackedBench(t)
	here, there := b.open("test:0"), b.open("test:1")
	src, err := b.ManagerAlloc(b.manager(here), 4096)
	require.NoError(t, err)
	dst, err := b.ManagerAlloc(b.manager(there), 4096)
	require.NoError(t, err)
	in, out := []byte("0123456789abcdef"), make([]byte, 16)
	require.NoError(t, b.MemoryWrite(src, 8, b.device(0).HostBuffer(in), 16))
	transfer := manager.NewTransfer(manager.MemoryHandle(src), manager.MemoryHandle(dst), 16).WithSrcOffset(8).WithDstOffset(4)
	require.NoError(t, b.MemoryCopy(transfer))
	require.NoError(t, b.MemoryRead(dst, 4, b.device(1).HostBuffer(out), 16))
	require.Equal(t, in, out)

	stream, err := b.StreamCreate(there)
	require.NoError(t, err)
	require.NoError(t, b.MemoryFillAsync(manager.Fill{Memory: manager.MemoryHandle(dst), SizeBytes: 16,
		Pattern: device.Pattern{Value: 0x2a, WidthBytes: 1}}, stream))
	require.NoError(t, b.MemoryCopyAsync(manager.NewTransfer(manager.MemoryHandle(dst), manager.MemoryHandle(dst), 8).WithDstOffset(100), 0))
	require.NoError(t, b.DeviceSynchronize(there, device.Forever))
	require.NoError(t, b.MemoryRead(dst, 100, b.device(1).HostBuffer(out), 8))
	require.Equal(t, "********", string(out[:8]))
	foreign, err := b.StreamCreate(here)
	require.NoError(t, err)
	requireCode(t, device.CodeInvalidArgument, b.MemoryCopyAsync(transfer, foreign))
	requireCode(t, device.CodeInvalidHandle, b.MemoryCopy(manager.NewTransfer(0, manager.MemoryHandle(dst), 1)))
}

func TestManagerRefusesBadArguments(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	m := b.manager(dev)
	first := func(_ any, err error) error { return err }
	requireCode(t, device.CodeInvalidSize, first(b.ManagerAlloc(m, 0)))
	requireCode(t, device.CodeInvalidAlignment, first(b.ManagerAllocWith(m, manager.Request{SizeBytes: 1, AlignmentBytes: 6})))
	requireCode(t, device.CodeInvalidArgument, first(b.ManagerAllocWith(m, manager.Request{Type: -1, SizeBytes: 1})))
	requireCode(t, device.CodeInvalidHandle, first(b.ManagerAlloc(dev, 1)))
	requireCode(t, device.CodeInvalidHandle, first(b.ManagerCreate(m, nil)))
	config := manager.DefaultConfig()
	config.GCThreshold = 2
	requireCode(t, device.CodeInvalidConfig, first(b.ManagerCreate(dev, &config)))
	requireCode(t, device.CodeUnsupported, b.ManagerConfigurePool(m, manager.Mapped, nil))
	require.Equal(t, map[string]int{"device": 1, "manager": 1}, b.leaks().kinds())
}

func TestManagerConfigureDefragmentDestroy(t *testing.T) { overBoth(t, configureDefragmentDestroy) }

func configureDefragmentDestroy(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	m := b.manager(dev)
	config := smallPool()
	config.AlignmentBytes = 4096
	require.NoError(t, b.ManagerConfigurePool(m, manager.Tensor, config))
	h, err := b.ManagerAllocWith(m, manager.Request{Type: manager.Tensor, SizeBytes: 1})
	require.NoError(t, err)
	stats, err := b.ManagerGetStatistics(m)
	require.NoError(t, err)
	require.EqualValues(t, 4096, stats.Allocated.Current)
	gone, err := b.ManagerAllocWith(m, manager.Request{SizeBytes: 1, AlignmentBytes: 512})
	require.NoError(t, err)
	require.NoError(t, b.MemoryFree(gone))
	done, err := b.ManagerDefragment(m)
	require.NoError(t, err)
	require.EqualValues(t, 1<<20, done.MemoryFreedBytes)
	require.EqualValues(t, 1, done.BlocksSkipped)

	requireCode(t, device.CodeBusy, b.ManagerDestroy(m, false))
	_, err = b.MemoryGetHandleInfo(h)
	require.NoError(t, err)
	b.device(0).FailNth(giveBackCall(), 1, nil)
	requireCode(t, device.CodeDevice, b.ManagerDestroy(m, true))
	_, err = b.ManagerGetStatistics(m)
	require.NoError(t, err, "it can be destroyed again")
	require.NoError(t, b.ManagerDestroy(m, true))
	_, err = b.MemoryGetHandleInfo(h)
	requireCode(t, device.CodeInvalidHandle, err)
	requireCode(t, device.CodeInvalidHandle, b.ManagerDestroy(m, true))
}

func TestManagerPinsAndRelocation(t *testing.T) { overBoth(t, pinsAndRelocation) }

func pinsAndRelocation(t *testing.T) {
	b := startBench(t)
	m := b.manager(b.open("test:0"))
	h, err := b.ManagerAllocWith(m, manager.Request{SizeBytes: 100, Relocatable: true})
	require.NoError(t, err)
	addr, err := b.MemoryPin(h)
	require.NoError(t, err)
	info, err := b.MemoryGetHandleInfo(h)
	require.NoError(t, err)
	require.True(t, info.Relocatable)
	require.EqualValues(t, 1, info.Pins)
	require.Equal(t, info.Addr, addr)
	requireCode(t, device.CodeBusy, b.MemoryFree(h))
	done, err := b.ManagerDefragmentWithin(m, device.Forever)
	require.NoError(t, err)
	require.EqualValues(t, 1, done.Skipped.Pinned)
	require.NoError(t, b.MemoryUnpin(h))
	requireCode(t, device.CodeInvalidState, b.MemoryUnpin(h))
	_, err = b.ManagerDefragmentWithin(m, -7)
	requireCode(t, device.CodeInvalidArgument, err)
	require.NoError(t, b.MemoryFree(h))
	_, err = b.MemoryPin(h)
	requireCode(t, device.CodeInvalidHandle, err)
	requireCode(t, device.CodeInvalidHandle, b.MemoryUnpin(h))
	require.NoError(t, b.ManagerDestroy(m, false))
	_, err = b.ManagerDefragmentWithin(m, 0)
	requireCode(t, device.CodeInvalidHandle, err)
}
