package cuda

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/vmm"
)

// The rooms above the driver, as long as no background work of theirs runs: no page
// is kept ready.
const noneReady = -1

// pooledOperations are those of a pool over segments.
func pooledOperations(t *testing.T, o *openDevice) []operation {
	e := engine.New(o, engine.Options{})
	c := pool.DefaultConfig()
	c.Paging, c.InitialSizeBytes, c.GrowthIncrementBytes = pool.PagingOff, 4<<20, 4<<20
	p, err := pool.New(e, c)
	require.NoError(t, err)
	s, err := o.NewStream()
	require.NoError(t, err)
	var block pool.Block
	var release func()
	allocate := func() (err error) {
		block, err = p.Alloc(pool.Request{SizeBytes: 1 << 20, Stream: s})
		return err
	}
	free := func() error { return p.Free(block.Addr, s) }
	busy := func() error { release = blocked(t, s); return nil }
	idle := func() error { release(); return s.Synchronize(device.Forever) }
	return []operation{
		{name: "pool: allocate, with a new segment", do: allocate},
		{name: "pool: free on a stream that is idle", do: free},
		{name: "pool: allocate what is cached", do: allocate},
		{do: busy},
		{name: "pool: free behind work, the first time", do: free},
		{name: "pool: allocate it again for the same stream", do: allocate},
		{name: "pool: free behind work", do: free},
		{do: idle},
		{name: "pool: allocate it for another stream, after the work", do: func() (err error) {
			block, err = p.Alloc(pool.Request{SizeBytes: 1 << 20})
			return err
		}},
		{do: func() error { return p.Free(block.Addr, nil) }},
		{do: func() error { p.Land(); return nil }},
		{name: "pool: trim a segment", do: func() error { _, err := p.Trim(0); return err }},
		{do: func() error { return p.Close(false) }},
		{do: func() error { return s.Close() }},
	}
}

// pagedOperations are those of a virtual pool, with four pages at a time.
func pagedOperations(t *testing.T, o *openDevice) []operation {
	const run, page = 8 << 20, 2 << 20
	e := engine.New(o, engine.Options{})
	p, err := vmm.NewPool(e, vmm.Config{CapacityBytes: 64 << 20, PageBytes: page, ReadyPages: noneReady})
	require.NoError(t, err)
	allocate := func(offset uint64) func() error {
		return func() error {
			_, err := p.AllocateTagged(vmm.AllocateRequest{OffsetBytes: offset, SizeBytes: run, Tag: "tag"})
			return err
		}
	}
	free := func(offset uint64) func() error {
		return func() error { return p.Deallocate(offset, run, nil) }
	}
	settle := operation{do: p.Synchronize}
	return []operation{
		{name: "virtual pool: allocate 4 pages that are new", do: allocate(0)},
		{name: "virtual pool: free 4 pages", do: free(0)},
		settle,
		{name: "virtual pool: allocate 4 pages that are still mapped there", do: allocate(0)},
		{do: free(0)},
		settle,
		{name: "virtual pool: allocate 4 recycled pages elsewhere", do: allocate(run)},
		{name: "virtual pool: put 4 pages to sleep", byWorkers: true, do: func() error {
			_, err := p.Sleep(context.Background(), vmm.SleepRequest{Tag: "tag", Streams: 1, Stream: o.DefaultStream()})
			return err
		}},
		{name: "virtual pool: wake 4 pages", byWorkers: true, do: func() error {
			_, err := p.Wake(context.Background(), vmm.WakeRequest{Tag: "tag", Streams: 1})
			return err
		}},
		{do: free(run)},
		settle,
		{do: func() error { return p.Close(false) }},
	}
}
