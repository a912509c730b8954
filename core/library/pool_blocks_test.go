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
	tag, err := b.PoolGetTag(p, "kv")
	require.NoError(t, err)
	addr, err := b.PoolAllocWith(p, library.PoolRequest{Request: pool.Request{
		SizeBytes: 1000, AlignmentBytes: 4096, TagNumber: tag, Lifetime: time.Second, Group: 7,
	}})
	require.NoError(t, err)
	require.Zero(t, uint64(addr)%4096)
	size, err := b.PoolUsableSize(p, addr)
	require.NoError(t, err)
	require.EqualValues(t, 1024, size)
	_, err = b.PoolAllocWith(p, library.PoolRequest{Request: pool.Request{SizeBytes: 1, TagNumber: tag + 1}})
	requireCode(t, device.CodeInvalidArgument, err)
	_, err = b.PoolGetTag(p, "")
	requireCode(t, device.CodeInvalidArgument, err)
	requireCode(t, device.CodeInvalidSize, b.PoolFreeSized(p, addr, 1024, 0))
	require.NoError(t, b.PoolFreeSized(p, addr, 1000, 0))
	_, err = b.PoolUsableSize(p, addr)
	requireCode(t, device.CodeDoubleFree, err)
}

func TestPoolBatchesAreAllOrNothing(t *testing.T) {
	b := startBench(t)
	p := b.pool(b.open("test:0"))
	blocks := make([]device.Addr, 100)
	require.NoError(t, b.PoolAllocBatch(p, 1000, 0, blocks))
	tooMuch := []device.Addr{1, 1, 1}
	requireCode(t, device.CodeOutOfMemory, b.PoolAllocBatch(p, capacity/2, 0, tooMuch))
	require.Equal(t, make([]device.Addr, 3), tooMuch)
	err := b.PoolFreeBatch(p, append([]device.Addr{blocks[7]}, blocks...), 0)
	requireCode(t, device.CodeDoubleFree, err)
	require.ErrorContains(t, err, "addresses[8]")
	stats, err := b.PoolGetStatistics(p)
	require.NoError(t, err)
	require.EqualValues(t, 100, stats.LiveBlocks.Current)
	require.NoError(t, b.PoolFreeBatch(p, blocks[:60], 0))
	require.NoError(t, b.PoolReset(p, 0))
	stats, err = b.PoolGetStatistics(p)
	require.NoError(t, err)
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
			_, err := b.PoolAllocWith(p, library.PoolRequest{Request: pool.Request{SizeBytes: 1}, StreamHandle: s})
			return err
		},
		"alloc_batch":   func(p, s uint64) error { return b.PoolAllocBatch(p, 1, s, make([]device.Addr, 1)) },
		"free_sized":    func(p, s uint64) error { return b.PoolFreeSized(p, addr, 64, s) },
		"free_batch":    func(p, s uint64) error { return b.PoolFreeBatch(p, one, s) },
		"record_stream": func(p, s uint64) error { return b.PoolRecordStream(p, addr, s) },
		"reset":         b.PoolReset,
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			requireCode(t, device.CodeInvalidHandle, call(dev, 0))
			requireCode(t, device.CodeInvalidHandle, call(p, dev))
			requireCode(t, device.CodeInvalidArgument, call(p, foreign))
		})
	}
	_, err = b.PoolGetTag(dev, "kv")
	requireCode(t, device.CodeInvalidHandle, err)
	_, err = b.PoolUsableSize(dev, addr)
	requireCode(t, device.CodeInvalidHandle, err)
	requireCode(t, device.CodeInvalidHandle, b.PoolSetMinHeld(dev, 0))
	requireCode(t, device.CodeInvalidHandle, b.PoolSetReleaseThreshold(dev, 0))
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
	require.NoError(t, b.PoolRecordStream(p, addr, 0))
	held, err := b.StreamDefault(dev)
	require.NoError(t, err)
	b.device(0).Default().Hold()
	require.NoError(t, b.StreamHostFunction(held, func() {}))
	require.NoError(t, b.PoolFree(p, addr, stream))
	owner, err := b.DeviceGetOwner(dev, addr)
	require.NoError(t, err)
	require.Equal(t, pool.BlockInFlight, owner.State)
	b.device(0).Default().Release()
}

func TestOwners(t *testing.T) {
	b := startBench(t)
	dev, other := b.open("test:0"), b.open("test:1")
	config := smallPool()
	config.Name, config.Tracking = "owned", true
	p, err := b.PoolCreate(dev, config)
	require.NoError(t, err)
	addr, err := b.PoolAlloc(p, 1000, 0)
	require.NoError(t, err)
	owner, err := b.DeviceGetOwner(dev, addr+1023)
	require.NoError(t, err)
	require.Equal(t, pool.BlockLive, owner.State)
	require.Equal(t, addr, owner.Addr)
	require.EqualValues(t, 1000, owner.RequestedBytes)
	require.Equal(t, p, owner.Pool)
	require.Zero(t, owner.Manager)
	require.Equal(t, "owned", owner.PoolName)
	require.Equal(t, "owned", owner.Tag)
	require.NoError(t, b.PoolFree(p, addr, 0))
	owner, err = b.DeviceGetOwner(dev, addr)
	require.NoError(t, err)
	require.Equal(t, pool.BlockFree, owner.State)
	require.Zero(t, owner.Age)

	m, err := b.ManagerCreate(dev, &manager.Config{
		GCThreshold: 1, MaxConcurrentTransfers: 1,
		PoolConfigs: map[manager.MemoryType]pool.Config{manager.General: *smallPool()},
	})
	require.NoError(t, err)
	memory, err := b.ManagerAlloc(m, 100)
	require.NoError(t, err)
	info, err := b.MemoryGetHandleInfo(memory)
	require.NoError(t, err)
	owner, err = b.DeviceGetOwner(dev, info.Addr)
	require.NoError(t, err)
	require.Zero(t, owner.Pool)
	require.Equal(t, m, owner.Manager)

	_, err = b.DeviceGetOwner(other, info.Addr)
	requireCode(t, device.CodeNotFound, err)
	_, err = b.DeviceGetOwner(p, info.Addr)
	requireCode(t, device.CodeInvalidHandle, err)
}
