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
		h, err := at(b.Manager, m).AllocTyped(manager.Request{Type: manager.Cache, SizeBytes: 1000, AlignmentBytes: 4096, Tag: "kv"})
		require.NoError(t, err)
		info, err := b.MemoryGetHandleInfo(uint64(h))
		require.NoError(t, err)
		require.Zero(t, uint64(info.Addr)%4096)
		require.GreaterOrEqual(t, info.AlignmentBytes, uint64(4096))
		require.Positive(t, info.AllocatedAt)
		require.Equal(t, library.HandleInfo{
			Memory: uint64(h), Manager: m, Device: dev, Type: manager.Cache, SizeBytes: 1000, AllocatedBytes: 1024,
			AlignmentBytes: info.AlignmentBytes, Addr: info.Addr, AllocatedAt: info.AllocatedAt, Tag: "kv",
		}, info)
		require.NoError(t, made(b).Free(manager.MemoryHandle(h)))
		_, err = b.MemoryGetHandleInfo(uint64(h))
		requireCode(t, device.CodeInvalidHandle, err)
		requireCode(t, device.CodeInvalidHandle, made(b).Free(manager.MemoryHandle(h)))
	}
}

func TestAllocationTimeCountsFromTheStart(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	for range 2 {
		h, err := at(b.Manager, b.manager(dev)).Alloc(1)
		require.NoError(t, err)
		info, err := b.MemoryGetHandleInfo(uint64(h))
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
	src, err := at(b.Manager, b.manager(here)).Alloc(4096)
	require.NoError(t, err)
	dst, err := at(b.Manager, b.manager(there)).Alloc(4096)
	require.NoError(t, err)
	in, out := []byte("0123456789abcdef"), make([]byte, 16)
	require.NoError(t, made(b).Write(manager.MemoryHandle(src), 8, b.device(0).HostBuffer(in), 16))
	transfer := manager.NewTransfer(manager.MemoryHandle(src), manager.MemoryHandle(dst), 16).WithSrcOffset(8).WithDstOffset(4)
	require.NoError(t, made(b).Copy(transfer))
	require.NoError(t, made(b).Read(manager.MemoryHandle(dst), 4, b.device(1).HostBuffer(out), 16))
	require.Equal(t, in, out)

	stream, err := b.StreamCreate(there)
	require.NoError(t, err)
	require.NoError(t, made(b).FillAsync(manager.Fill{Memory: manager.MemoryHandle(dst), SizeBytes: 16,
		Pattern: device.Pattern{Value: 0x2a, WidthBytes: 1}}, manager.StreamHandle(stream)))
	require.NoError(t, made(b).CopyAsync(manager.NewTransfer(manager.MemoryHandle(dst), manager.MemoryHandle(dst), 8).WithDstOffset(100), manager.StreamHandle(0)))
	require.NoError(t, at(b.Device, there).Synchronize(device.Forever))
	require.NoError(t, made(b).Read(manager.MemoryHandle(dst), 100, b.device(1).HostBuffer(out), 8))
	require.Equal(t, "********", string(out[:8]))
	foreign, err := b.StreamCreate(here)
	require.NoError(t, err)
	requireCode(t, device.CodeInvalidArgument, made(b).CopyAsync(transfer, manager.StreamHandle(foreign)))
	requireCode(t, device.CodeInvalidHandle, made(b).Copy(manager.NewTransfer(0, manager.MemoryHandle(dst), 1)))
}

func TestManagerRefusesBadArguments(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	m := b.manager(dev)
	requireCode(t, device.CodeInvalidSize, second(at(b.Manager, m).Alloc(0)))
	requireCode(t, device.CodeInvalidAlignment, second(at(b.Manager, m).AllocTyped(manager.Request{SizeBytes: 1, AlignmentBytes: 6})))
	requireCode(t, device.CodeInvalidArgument, second(at(b.Manager, m).AllocTyped(manager.Request{Type: -1, SizeBytes: 1})))
	requireCode(t, device.CodeInvalidHandle, do(b.Manager, dev, func(o *library.Manager) error { return second(o.Alloc(1)) }))
	requireCode(t, device.CodeInvalidHandle, second(b.ManagerCreate(m, nil)))
	config := manager.DefaultConfig()
	config.GCThreshold = 2
	requireCode(t, device.CodeInvalidConfig, second(b.ManagerCreate(dev, &config)))
	requireCode(t, device.CodeUnsupported, at(b.Manager, m).ConfigurePool(manager.Mapped, nil))
	require.Equal(t, map[string]int{"device": 1, "manager": 1}, b.leaks().kinds())
}

func TestManagerConfigureDefragmentDestroy(t *testing.T) { overBoth(t, configureDefragmentDestroy) }

func configureDefragmentDestroy(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	m := b.manager(dev)
	config := smallPool()
	config.AlignmentBytes = 4096
	require.NoError(t, at(b.Manager, m).ConfigurePool(manager.Tensor, config))
	h, err := at(b.Manager, m).AllocTyped(manager.Request{Type: manager.Tensor, SizeBytes: 1})
	require.NoError(t, err)
	stats := at(b.Manager, m).Statistics()
	require.EqualValues(t, 4096, stats.Allocated.Current)
	gone, err := at(b.Manager, m).AllocTyped(manager.Request{SizeBytes: 1, AlignmentBytes: 512})
	require.NoError(t, err)
	require.NoError(t, made(b).Free(manager.MemoryHandle(gone)))
	done, err := at(b.Manager, m).Defragment()
	require.NoError(t, err)
	require.EqualValues(t, 1<<20, done.MemoryFreedBytes)
	require.EqualValues(t, 1, done.BlocksSkipped)

	requireCode(t, device.CodeBusy, at(b.Manager, m).Destroy(false))
	_, err = b.MemoryGetHandleInfo(uint64(h))
	require.NoError(t, err)
	b.device(0).FailNth(giveBackCall(), 1, nil)
	requireCode(t, device.CodeDevice, at(b.Manager, m).Destroy(true))
	err = do(b.Manager, m, func(o *library.Manager) error { o.Statistics(); return nil })
	require.NoError(t, err, "a second destroy succeeds")
	require.NoError(t, at(b.Manager, m).Destroy(true))
	_, err = b.MemoryGetHandleInfo(uint64(h))
	requireCode(t, device.CodeInvalidHandle, err)
	requireCode(t, device.CodeInvalidHandle, do(b.Manager, m, func(o *library.Manager) error { return o.Destroy(true) }))
}

func TestManagerPinsAndRelocation(t *testing.T) { overBoth(t, pinsAndRelocation) }

func pinsAndRelocation(t *testing.T) {
	b := startBench(t)
	m := b.manager(b.open("test:0"))
	h, err := at(b.Manager, m).AllocTyped(manager.Request{SizeBytes: 100, Relocatable: true})
	require.NoError(t, err)
	addr, err := made(b).Pin(manager.MemoryHandle(h))
	require.NoError(t, err)
	info, err := b.MemoryGetHandleInfo(uint64(h))
	require.NoError(t, err)
	require.True(t, info.Relocatable)
	require.EqualValues(t, 1, info.Pins)
	require.Equal(t, info.Addr, addr)
	requireCode(t, device.CodeBusy, made(b).Free(manager.MemoryHandle(h)))
	done, err := at(b.Manager, m).DefragmentWithin(device.Forever)
	require.NoError(t, err)
	require.EqualValues(t, 1, done.Skipped.Pinned)
	require.NoError(t, made(b).Unpin(manager.MemoryHandle(h)))
	requireCode(t, device.CodeInvalidState, made(b).Unpin(manager.MemoryHandle(h)))
	_, err = at(b.Manager, m).DefragmentWithin(-7)
	requireCode(t, device.CodeInvalidArgument, err)
	require.NoError(t, made(b).Free(manager.MemoryHandle(h)))
	_, err = made(b).Pin(manager.MemoryHandle(h))
	requireCode(t, device.CodeInvalidHandle, err)
	requireCode(t, device.CodeInvalidHandle, made(b).Unpin(manager.MemoryHandle(h)))
	require.NoError(t, at(b.Manager, m).Destroy(false))
	err = do(b.Manager, m, func(o *library.Manager) error { return second(o.DefragmentWithin(0)) })
	requireCode(t, device.CodeInvalidHandle, err)
}
