package library_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
)

func TestPoolRequestsAndTags(t *testing.T) {
	b := startBench(t)
	p := b.pool(b.open("test:0"))
	tag, err := at(b.Pool, p).Tag("kv")
	require.NoError(t, err)
	addr, err := at(b.Pool, p).AllocWith(library.PoolRequest{Request: pool.Request{
		SizeBytes: 1000, AlignmentBytes: 4096, TagNumber: tag, Lifetime: time.Second, Group: 7,
	}})
	require.NoError(t, err)
	require.Zero(t, uint64(addr)%4096)
	size, err := at(b.Pool, p).UsableSize(addr)
	require.NoError(t, err)
	require.EqualValues(t, 1024, size)
	_, err = at(b.Pool, p).AllocWith(library.PoolRequest{Request: pool.Request{SizeBytes: 1, TagNumber: tag + 1}})
	requireCode(t, device.CodeInvalidArgument, err)
	_, err = at(b.Pool, p).Tag("")
	requireCode(t, device.CodeInvalidArgument, err)
	requireCode(t, device.CodeInvalidSize, at(b.Pool, p).FreeSized(addr, 1024, 0))
	require.NoError(t, at(b.Pool, p).FreeSized(addr, 1000, 0))
	_, err = at(b.Pool, p).UsableSize(addr)
	requireCode(t, device.CodeDoubleFree, err)
}

func TestPoolBatchesAreAllOrNothing(t *testing.T) {
	b := startBench(t)
	p := b.pool(b.open("test:0"))
	blocks := make([]device.Addr, 100)
	require.NoError(t, at(b.Pool, p).AllocBatch(1000, 0, blocks))
	tooMuch := []device.Addr{1, 1, 1}
	requireCode(t, device.CodeOutOfMemory, at(b.Pool, p).AllocBatch(capacity/2, 0, tooMuch))
	require.Equal(t, make([]device.Addr, 3), tooMuch)
	err := at(b.Pool, p).FreeBatch(append([]device.Addr{blocks[7]}, blocks...), 0)
	requireCode(t, device.CodeDoubleFree, err)
	require.ErrorContains(t, err, "addresses[8]")
	stats := at(b.Pool, p).Statistics()
	require.EqualValues(t, 100, stats.LiveBlocks.Current)
	require.NoError(t, at(b.Pool, p).FreeBatch(blocks[:60], 0))
	require.NoError(t, at(b.Pool, p).Reset(0))
	stats = at(b.Pool, p).Statistics()
	require.Zero(t, stats.LiveBlocks.Current)
	require.EqualValues(t, 100, stats.Frees)
}

func TestPoolBlocksRefuseHandlesThatAreNone(t *testing.T) {
	b := startBench(t)
	dev, other := b.open("test:0"), b.open("test:1")
	p := b.pool(dev)
	addr, err := b.PoolAlloc(p, 64, 0)
	require.NoError(t, err)
	foreign, err := b.StreamCreate(other)
	require.NoError(t, err)
	one := []device.Addr{addr}
	calls := map[string]func(pool, stream uint64) error{
		"alloc_with": func(p, s uint64) error {
			return do(b.Pool, p, func(o *library.Pool) error {
				return second(o.AllocWith(library.PoolRequest{Request: pool.Request{SizeBytes: 1}, StreamHandle: s}))
			})
		},
		"alloc_batch": func(p, s uint64) error {
			return do(b.Pool, p, func(o *library.Pool) error { return o.AllocBatch(1, s, make([]device.Addr, 1)) })
		},
		"free_sized": func(p, s uint64) error {
			return do(b.Pool, p, func(o *library.Pool) error { return o.FreeSized(addr, 64, s) })
		},
		"free_batch": func(p, s uint64) error {
			return do(b.Pool, p, func(o *library.Pool) error { return o.FreeBatch(one, s) })
		},
		"record_stream": func(p, s uint64) error {
			return do(b.Pool, p, func(o *library.Pool) error { return o.RecordStream(addr, s) })
		},
		"reset": func(p, s uint64) error { return do(b.Pool, p, func(o *library.Pool) error { return o.Reset(s) }) },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			requireCode(t, device.CodeInvalidHandle, call(dev, 0))
			requireCode(t, device.CodeInvalidHandle, call(p, dev))
			requireCode(t, device.CodeInvalidArgument, call(p, foreign))
		})
	}
	err = do(b.Pool, dev, func(o *library.Pool) error { return second(o.Tag("kv")) })
	requireCode(t, device.CodeInvalidHandle, err)
	err = do(b.Pool, dev, func(o *library.Pool) error { return second(o.UsableSize(addr)) })
	requireCode(t, device.CodeInvalidHandle, err)
	requireCode(t, device.CodeInvalidHandle, do(b.Pool, dev, func(o *library.Pool) error { return o.SetMinHeld(0) }))
	requireCode(t, device.CodeInvalidHandle, do(b.Pool, dev, func(o *library.Pool) error { return o.SetReleaseThreshold(0) }))
	require.NoError(t, b.PoolFree(p, addr, 0))
}

func TestARecordedStreamKeepsABlockInFlight(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	p := b.pool(dev)
	stream, err := b.StreamCreate(dev)
	require.NoError(t, err)
	addr, err := b.PoolAlloc(p, 64, stream)
	require.NoError(t, err)
	require.NoError(t, at(b.Pool, p).RecordStream(addr, 0))
	held, err := b.StreamDefault(dev)
	require.NoError(t, err)
	b.device(0).Default().Hold()
	require.NoError(t, made(b).HostFunction(manager.StreamHandle(held), func() {}))
	require.NoError(t, b.PoolFree(p, addr, stream))
	owner, err := at(b.Device, dev).Owner(addr)
	require.NoError(t, err)
	require.Equal(t, pool.BlockInFlight, owner.State)
	b.device(0).Default().Release()
}

func TestAnAddressLeadsToItsBlockAndPool(t *testing.T) {
	b := startBench(t)
	dev, other := b.open("test:0"), b.open("test:1")
	config := smallPool()
	config.Name, config.Tracking = "owned", true
	p, err := b.PoolCreate(dev, config)
	require.NoError(t, err)
	addr, err := b.PoolAlloc(p, 1000, 0)
	require.NoError(t, err)
	owner, err := at(b.Device, dev).Owner(addr + 1023)
	require.NoError(t, err)
	require.Equal(t, pool.BlockLive, owner.State)
	require.Equal(t, addr, owner.Addr)
	require.EqualValues(t, 1000, owner.RequestedBytes)
	require.Equal(t, p, owner.Pool)
	require.Zero(t, owner.Manager)
	require.Equal(t, "owned", owner.PoolName)
	require.Equal(t, "owned", owner.Tag)
	require.NoError(t, b.PoolFree(p, addr, 0))
	owner, err = at(b.Device, dev).Owner(addr)
	require.NoError(t, err)
	require.Equal(t, pool.BlockFree, owner.State)
	require.Zero(t, owner.Age)

	m, err := b.ManagerCreate(dev, &manager.Config{
		GCThreshold: 1, MaxConcurrentTransfers: 1,
		PoolConfigs: map[manager.MemoryType]pool.Config{manager.General: *smallPool()},
	})
	require.NoError(t, err)
	memory, err := at(b.Manager, m).Alloc(100)
	require.NoError(t, err)
	info, err := b.MemoryGetHandleInfo(uint64(memory))
	require.NoError(t, err)
	owner, err = at(b.Device, dev).Owner(info.Addr)
	require.NoError(t, err)
	require.Zero(t, owner.Pool)
	require.Equal(t, m, owner.Manager)

	_, err = at(b.Device, other).Owner(info.Addr)
	requireCode(t, device.CodeNotFound, err)
	err = do(b.Device, p, func(o *library.Device) error { return second(o.Owner(info.Addr)) })
	requireCode(t, device.CodeInvalidHandle, err)
}
