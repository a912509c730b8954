package library_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
)

func TestPoolAllocAndFree(t *testing.T) { overBoth(t, allocAndFree) }

func allocAndFree(t *testing.T) {
	b := startBench(t)
	p := b.pool(b.open("test:0"))
	addr, err := b.PoolAlloc(p, 1000, 0)
	require.NoError(t, err)
	aligned, err := at(b.Pool, p).AllocWith(library.PoolRequest{Request: pool.Request{SizeBytes: 10, AlignmentBytes: 1 << 16}})
	require.NoError(t, err)
	require.Zero(t, uint64(aligned)%(1<<16))
	stats := at(b.Pool, p).Statistics()
	require.EqualValues(t, 1010, stats.Requested.Current)
	require.EqualValues(t, 1024+256, stats.Allocated.Current)

	requireCode(t, device.CodeInvalidAddress, b.PoolFree(p, addr+1, 0))
	require.NoError(t, b.PoolFree(p, addr, 0))
	requireCode(t, device.CodeDoubleFree, b.PoolFree(p, addr, 0))
	requireCode(t, device.CodeInvalidAddress, b.PoolFree(p, 1, 0))
	require.NoError(t, b.PoolFree(p, aligned, 0))
	released, err := at(b.Pool, p).Trim(0)
	require.NoError(t, err)
	require.EqualValues(t, 1<<20, released)
	require.NoError(t, at(b.Pool, p).SetLimit(1<<20))
	_, err = b.PoolAlloc(p, 2<<20, 0)
	requireCode(t, device.CodeOutOfMemory, err)
}

func TestPoolRefusesBadArguments(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	p := b.pool(dev)
	requireCode(t, device.CodeInvalidAlignment, second(at(b.Pool, p).AllocWith(library.PoolRequest{Request: pool.Request{SizeBytes: 1, AlignmentBytes: 3}})))
	requireCode(t, device.CodeInvalidAlignment, second(at(b.Pool, p).AllocWith(library.PoolRequest{Request: pool.Request{SizeBytes: 1, AlignmentBytes: 1 << 31}})))
	requireCode(t, device.CodeInvalidSize, second(b.PoolAlloc(p, 0, 0)))
	for _, wrong := range []uint64{0, dev, p + 1<<40, p + 1, ^uint64(0)} {
		requireCode(t, device.CodeInvalidHandle, second(b.PoolAlloc(wrong, 1, 0)))
		requireCode(t, device.CodeInvalidHandle, do(b.Pool, wrong, func(o *library.Pool) error { return o.Destroy(true) }))
	}
	for _, wrong := range []uint64{dev, p, ^uint64(0)} {
		requireCode(t, device.CodeInvalidHandle, second(b.PoolAlloc(p, 1, wrong)))
		requireCode(t, device.CodeInvalidHandle, b.PoolFree(p, 1, wrong))
	}
	config := smallPool()
	config.Strategy = "worst_fit"
	requireCode(t, device.CodeNotFound, second(b.PoolCreate(dev, config)))
	requireCode(t, device.CodeInvalidHandle, second(b.PoolCreate(p, nil)))
	require.Equal(t, map[string]int{"device": 1, "pool": 1}, b.leaks().kinds())
}

func TestPoolStreamsAreOfItsDevice(t *testing.T) {
	b := startBench(t)
	here, there := b.open("test:0"), b.open("test:1")
	p := b.pool(here)
	own, err := b.StreamCreate(here)
	require.NoError(t, err)
	foreign, err := b.StreamCreate(there)
	require.NoError(t, err)
	addr, err := b.PoolAlloc(p, 100, own)
	require.NoError(t, err)
	_, err = b.PoolAlloc(p, 100, foreign)
	requireCode(t, device.CodeInvalidArgument, err)
	require.ErrorContains(t, err, "test:1")
	requireCode(t, device.CodeInvalidArgument, b.PoolFree(p, addr, foreign))
	require.NoError(t, b.PoolFree(p, addr, own))
}

// A block is reused on another stream only after the work that was queued at its free.
func TestPoolFreeWaitsForTheStream(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	config := smallPool()
	config.AutoExpansion = false
	p, err := b.PoolCreate(dev, config)
	require.NoError(t, err)
	stream, err := b.StreamDefault(dev)
	require.NoError(t, err)
	b.device(0).Default().Hold()
	addr, err := b.PoolAlloc(p, 1<<19, stream)
	require.NoError(t, err)
	require.NoError(t, made(b).HostFunction(manager.StreamHandle(stream), func() {}))
	require.NoError(t, b.PoolFree(p, addr, stream))
	other, err := b.StreamCreate(dev)
	require.NoError(t, err)
	next, err := b.PoolAlloc(p, 1<<19, other)
	require.NoError(t, err)
	require.NotEqual(t, addr, next, "the work at the free is not done")
	b.device(0).Default().Release()
	last, err := b.PoolAlloc(p, 1<<19, other)
	require.NoError(t, err)
	require.Equal(t, addr, last)
}

func TestAPoolInUseIsDestroyedByForceOnly(t *testing.T) { overBoth(t, destroyPool) }

func destroyPool(t *testing.T) {
	b := startBench(t)
	p := b.pool(b.open("test:0"))
	addr, err := b.PoolAlloc(p, 100, 0)
	require.NoError(t, err)
	requireCode(t, device.CodeBusy, at(b.Pool, p).Destroy(false))
	require.NoError(t, b.PoolFree(p, addr, 0))
	_, err = b.PoolAlloc(p, 100, 0)
	require.NoError(t, err)

	b.device(0).FailNth(giveBackCall(), 1, nil)
	requireCode(t, device.CodeDevice, at(b.Pool, p).Destroy(true))
	err = do(b.Pool, p, func(o *library.Pool) error { o.Statistics(); return nil })
	require.NoError(t, err, "a pool whose release failed can be destroyed again")
	require.NoError(t, at(b.Pool, p).Destroy(true))
	_, err = b.PoolAlloc(p, 100, 0)
	requireCode(t, device.CodeInvalidHandle, err)
}

func TestPoolCreateThatFailsLeavesNothing(t *testing.T) { overBoth(t, createPoolThatFails) }

func createPoolThatFails(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	config := smallPool()
	config.PreAlloc = true
	b.device(0).FailNth(takeCall(), 1, nil)
	_, err := b.PoolCreate(dev, config)
	require.Error(t, err)
	require.Zero(t, b.device(0).HeldBytes())
	require.Zero(t, b.device(0).Segments())
	require.Zero(t, b.device(0).Reservations())
	require.NoError(t, at(b.Device, dev).Close(false))
	dev = b.open("test:0")
	p, err := b.PoolCreate(dev, nil)
	require.NoError(t, err, "nil is the defaults")
	_ = at(b.Pool, p).Statistics()
}

// The hot path: a successful call allocates no memory in Go.
func TestPoolAllocAndFreeAllocNothing(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	p := b.pool(dev)
	stream, err := b.StreamDefault(dev)
	require.NoError(t, err)
	for name, s := range map[string]uint64{"default": 0, "by handle": stream} {
		pair := func() {
			addr, err := b.PoolAlloc(p, 512, s)
			if err != nil {
				panic(err)
			}
			if err := b.PoolFree(p, addr, s); err != nil {
				panic(err)
			}
		}
		pair()
		require.Zero(t, testing.AllocsPerRun(1000, pair), name)
	}
}
