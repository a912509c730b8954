package pool

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pressure"
)

func TestOwnThenSiblingSegmentsAreReleased(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: 4 * mib}, engine.Options{})
	p := b.pool(t, nil)
	q := b.pool(t, func(c *Config) { c.Name = "q" })
	for _, owner := range []*Pool{p, q} {
		one, two := mustAlloc(t, owner, mib), mustAlloc(t, owner, mib)
		require.NoError(t, owner.Free(one.Addr, nil))
		require.NoError(t, owner.Free(two.Addr, nil))
	}
	require.Equal(t, 4*mib, b.dev.HeldBytes())
	mustAlloc(t, p, 2*mib)
	require.Equal(t, 2*mib, q.Statistics().Reserved.Current, "the blocks of its own caches were enough")
	mustAlloc(t, p, mib+512*kib)
	require.Zero(t, q.Statistics().Reserved.Current)
	b.check(t, p, q)
	b.closeAll(t, p, q)
}

func TestAllocationWaitsForBlocksInFlightOfSiblings(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: 2 * mib}, engine.Options{})
	p := b.pool(t, nil)
	q := b.pool(t, func(c *Config) { c.Name = "q" })
	s := newStream(t, b)
	busy(t, s)
	require.NoError(t, q.Free(mustAlloc(t, q, 2*mib).Addr, s))
	done := device.Go("alloc", func() { mustAlloc(t, p, mib) })
	for b.dev.Calls(devicetest.EventSynchronize) == 0 {
		select {
		case <-done:
			t.Fatal("handed out before the work was done")
		default:
		}
	}
	s.Release()
	<-done
	require.NoError(t, s.Close())
	b.check(t, p, q)
	b.closeAll(t, p, q)
}

func TestReportOfAFailedAllocation(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: 4 * mib}, engine.Options{})
	p := b.pool(t, nil)
	for i, tag := range []string{"kv", "weights", "kv", "", "scratch", "x", "y", "z"} {
		_, err := p.Alloc(Request{SizeBytes: uint64(8-i) * 64 * kib, Tag: tag})
		require.NoError(t, err)
	}
	require.NoError(t, b.engine.SetLimit(3*mib))
	before := p.Statistics()
	_, err := p.Alloc(Request{SizeBytes: 2 * mib, AlignmentBytes: 512})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	for _, text := range []string{
		`no memory for 2 MiB aligned to 512 in pool "p"`,
		"free in the device: ", "largest run ", "limit of the device: 3 MiB, held: ",
		"held by kv: 896 KiB in 2 blocks, weights: 448 KiB in 1 block, p: 320 KiB",
		"and 2 more tags",
	} {
		require.ErrorContains(t, err, text)
	}
	after := p.Statistics()
	require.Equal(t, before.Failures+1, after.Failures)
	after.Failures = before.Failures
	require.Equal(t, before, after)
	quiet(t, b, p)
}

// A device has free memory and fails to allocate it: the report states the error of the
// device. A later failure with another reason does not state it.
func TestReportStatesTheErrorOfTheDevice(t *testing.T) {
	for _, call := range []devicetest.Call{devicetest.Alloc, devicetest.Create} {
		b := newBench(devicetest.Config{TotalBytes: 4 * mib}, engine.Options{})
		p := b.pool(t, nil)
		for n := 1; n <= 20; n++ {
			b.dev.FailNth(call, n, device.Errorf(device.CodeOutOfMemory, "driver", "the system refused it").WithNative(12))
		}
		_, err := p.Alloc(Request{SizeBytes: mib})
		unmet := b.dev.ClearFaults()
		if unmet == 20 {
			require.NoError(t, err, "this pool does not call its own reclaim callback")
			continue
		}
		require.ErrorIs(t, err, device.CodeOutOfMemory)
		require.ErrorContains(t, err, "; error of the driver: the system refused it")
		var typed *device.Error
		require.ErrorAs(t, err, &typed)
		require.EqualValues(t, 12, typed.Native)

		require.NoError(t, b.engine.SetLimit(mib))
		_, err = p.Alloc(Request{SizeBytes: 64 * kib})
		require.NoError(t, err)
		_, err = p.Alloc(Request{SizeBytes: mib})
		require.ErrorIs(t, err, device.CodeOutOfMemory)
		require.NotContains(t, err.Error(), "error of the driver")
	}
}

// A pool with a small block in a segment as large as the device leaves nothing for the
// others: the report states where the memory is.
func TestReportNamesWhatOtherPoolsHold(t *testing.T) {
	onSegments(t, "pages beside a block are given up")
	b := newBench(devicetest.Config{TotalBytes: 4 * mib}, engine.Options{})
	greedy := b.pool(t, func(c *Config) { c.PreAlloc, c.InitialSizeBytes = true, 4*mib })
	p := b.pool(t, nil)
	mustAlloc(t, greedy, 4*kib)
	_, err := p.Alloc(Request{SizeBytes: mib})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.ErrorContains(t, err, "free in the device: 0 bytes of 4 MiB")
	require.ErrorContains(t, err, "cached by other pools, beside live blocks: 4.00 MiB (4190208 bytes)")
	b.closeAll(t, greedy, p)
}

func TestReclaimCallbackFreesMemory(t *testing.T) {
	var inside atomic.Bool
	b := newBench(devicetest.Config{TotalBytes: 2 * mib}, engine.Options{MayNotWait: inside.Load})
	p := b.pool(t, nil)
	block := mustAlloc(t, p, 2*mib)
	asked := 0
	r, err := b.engine.OnReclaim(engine.ReclaimConfig{Deadline: time.Minute}, func(needed uint64) uint64 {
		inside.Store(true)
		defer inside.Store(false)
		asked++
		require.Equal(t, mib, needed)
		_, err := p.Alloc(Request{SizeBytes: mib})
		require.ErrorIs(t, err, device.CodeOutOfMemory, "an allocation inside fails instead of asking again")
		require.NoError(t, p.Free(block.Addr, nil))
		_, err = p.Trim(0)
		require.NoError(t, err)
		return 2 * mib
	})
	require.NoError(t, err)
	mustAlloc(t, p, mib)
	require.Equal(t, 1, asked)
	_, err = p.Alloc(Request{SizeBytes: 3 * mib})
	require.ErrorContains(t, err, "never fit")
	require.Equal(t, 1, asked, "a request that can never fit calls no reclaim callback")
	r.Remove(false)
	quiet(t, b, p)
}

// While one reclaim runs, another thread that runs out of memory waits for its end.
func TestOneReclaimAtATime(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: 2 * mib}, engine.Options{})
	p := b.pool(t, nil)
	hoard := []Block{mustAlloc(t, p, mib), mustAlloc(t, p, mib)}
	var running, most, freed atomic.Int32
	r, err := b.engine.OnReclaim(engine.ReclaimConfig{Deadline: time.Minute}, func(uint64) uint64 {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		if n := int(freed.Add(1)); n <= len(hoard) {
			require.NoError(t, p.Free(hoard[n-1].Addr, nil))
			return mib
		}
		return 0
	})
	require.NoError(t, err)
	var wait sync.WaitGroup
	var got, failed atomic.Int32
	for range 4 {
		wait.Go(func() {
			if _, err := p.Alloc(Request{SizeBytes: mib}); err == nil {
				got.Add(1)
			} else {
				failed.Add(1)
			}
		})
	}
	wait.Wait()
	require.EqualValues(t, 1, most.Load())
	require.EqualValues(t, 2, got.Load())
	require.EqualValues(t, 2, failed.Load())
	r.Remove(false)
	quiet(t, b, p)
}

// Pools that run out of memory all the time and make each other release segments, with
// limits, trims, callbacks and snapshots in between: there is no deadlock, no memory is
// allocated twice, and the counters are right at the end.
func TestManyThreadsOnPoolsWithoutMemory(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: 8 * mib}, engine.Options{})
	var pools []*Pool
	for _, name := range []string{"a", "b", "c"} {
		pools = append(pools, b.pool(t, func(c *Config) { c.Name, c.InitialSizeBytes = name, 512*kib }))
	}
	_, err := b.engine.OnPressure(func(pressure.Level) { _, _ = b.engine.MemoryInfo() })
	require.NoError(t, err)
	reclaim, err := b.engine.OnReclaim(engine.ReclaimConfig{}, func(uint64) uint64 {
		released, _ := pools[0].Trim(0)
		return released
	})
	require.NoError(t, err)
	var owners sync.Map
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() { starve(t, b, pools, &owners, uint64(worker)) })
	}
	wait.Go(func() {
		for i := range 200 {
			require.NoError(t, b.engine.SetLimit([]uint64{0, 6 * mib, 8 * mib}[i%3]))
			require.NoError(t, b.engine.Statistics().Check())
			_, _ = pools[i%3].Trim(mib)
			pools[i%3].Snapshot()
			pools[i%3].EachBlock(func(Block) bool { return true })
		}
		require.NoError(t, b.engine.SetLimit(0))
	})
	wait.Wait()
	b.check(t, pools...)
	require.Zero(t, b.engine.Statistics().LiveBlocks.Current)
	reclaim.Remove(false)
	for _, p := range pools {
		require.NoError(t, p.Close(false))
	}
	require.Zero(t, b.dev.HeldBytes())
}

func starve(t *testing.T, b *bench, pools []*Pool, owners *sync.Map, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	stream := newStream(t, b)
	type owned struct {
		pool  *Pool
		block Block
	}
	var mine []owned
	for range 400 {
		if len(mine) > 0 && (len(mine) > 6 || r.IntN(2) == 0) {
			at := r.IntN(len(mine))
			last := mine[at]
			mine = append(mine[:at], mine[at+1:]...)
			owners.Delete(last.block.Addr)
			require.NoError(t, last.pool.Free(last.block.Addr, stream))
			continue
		}
		p := pools[r.IntN(len(pools))]
		block, err := p.Alloc(Request{SizeBytes: 1 + r.Uint64N(700*kib), Stream: stream})
		if err != nil {
			require.ErrorIs(t, err, device.CodeOutOfMemory)
			continue
		}
		_, twice := owners.LoadOrStore(block.Addr, seed)
		require.False(t, twice, "address %#x was handed out twice", uint64(block.Addr))
		mine = append(mine, owned{p, block})
	}
	for _, last := range mine {
		owners.Delete(last.block.Addr)
		require.NoError(t, last.pool.Free(last.block.Addr, nil))
	}
	require.NoError(t, stream.Close())
}

// If the queued work may wait for the calling thread, an allocation takes what is ready
// and otherwise fails at once.
func TestAllocationDoesNotWaitIfTheThreadMayNot(t *testing.T) {
	var inside atomic.Bool
	b := newBench(devicetest.Config{TotalBytes: 2 * mib}, engine.Options{MayNotWait: inside.Load})
	p := b.pool(t, nil)
	s := newStream(t, b)
	busy(t, s)
	require.NoError(t, p.Free(mustAlloc(t, p, 2*mib).Addr, s))
	asked := 0
	r, err := b.engine.OnReclaim(engine.ReclaimConfig{Deadline: time.Minute}, func(uint64) uint64 {
		asked++
		return 0
	})
	require.NoError(t, err)
	inside.Store(true)
	_, err = p.Alloc(Request{SizeBytes: mib})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.ErrorContains(t, err, "freed but in use by queued work: 2 MiB")
	require.Zero(t, b.dev.Calls(devicetest.EventSynchronize))
	require.Zero(t, asked)
	s.Release()
	mustAlloc(t, p, mib)
	r.Remove(false)
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

// The reclaim path asks every pool, and again after every callback. A call that releases
// no segment must not query the device.
func TestFailedSearchQueriesTheDeviceOnce(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: 2 * mib}, engine.Options{})
	p := b.pool(t, nil)
	siblings := []*Pool{p}
	for range 5 {
		siblings = append(siblings, b.pool(t, nil))
	}
	mustAlloc(t, p, 2*mib)
	listener, err := b.engine.OnPressure(func(pressure.Level) {})
	require.NoError(t, err)
	before := b.dev.Calls(devicetest.Memory)
	_, err = siblings[1].Alloc(Request{SizeBytes: mib})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.LessOrEqual(t, b.dev.Calls(devicetest.Memory), before+1, "the report queries the device once")
	listener.Remove(false)
	b.closeAll(t, siblings...)
}
