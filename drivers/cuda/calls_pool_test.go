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

// noneReady disables the ready pages. The tests count driver calls, so the pools must not
// work in the background: a segmented pool never does, and a stepped pool releases and
// prepares pages only when the test requests it.
const noneReady = -1

// pooledOperations returns the operations of a segmented pool.
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
		{name: "pool: free on an idle stream", do: free},
		{name: "pool: allocate a cached block", do: allocate},
		{do: busy},
		{name: "pool: free behind queued work, the first time", do: free},
		{name: "pool: reuse the block on the same stream", do: allocate},
		{name: "pool: free behind queued work", do: free},
		{do: idle},
		{name: "pool: reuse the block on another stream, after the work", do: func() (err error) {
			block, err = p.Alloc(pool.Request{SizeBytes: 1 << 20})
			return err
		}},
		{do: func() error { return p.Free(block.Addr, nil) }},
		{do: func() error { p.CompleteFrees(); return nil }},
		{name: "pool: trim a segment", do: func() error { _, err := p.Trim(0); return err }},
		{do: func() error { return p.Close(false) }},
		{do: func() error { return s.Close() }},
	}
}

// largeOperations returns the operations of a paged pool with long blocks. Each block
// consists of two large pages, and a normal page for the rest.
func largeOperations(t *testing.T, o *openDevice) []operation {
	const long = 66 << 20
	e := engine.New(o, engine.Options{})
	c := pool.DefaultConfig()
	c.Paging, c.ReadyPages = pool.PagingOn, noneReady
	p, err := pool.New(e, c)
	require.NoError(t, err)
	p.PauseReturn()
	var block pool.Block
	allocate := func(size uint64) func() error {
		return func() (err error) { block, err = p.Alloc(pool.Request{SizeBytes: size}); return err }
	}
	free := operation{do: func() error { return p.Free(block.Addr, nil) }}
	return []operation{
		{name: "paged pool: allocate 66 MiB of new pages", do: allocate(long)},
		free,
		{name: "paged pool: allocate 1 MiB at the same address", do: allocate(1 << 20)},
		free,
		{name: "paged pool: trim a page of 32 MiB and two of 2 MiB", do: func() error { _, err := p.Trim(0); return err }},
		{do: func() error { return p.Close(false) }},
	}
}

// pagedOperations returns the operations of a model in an elastic pool, which maps four
// pages at a time.
func pagedOperations(t *testing.T, o *openDevice) []operation {
	const run, page, id = 8 << 20, 2 << 20, "model"
	e := engine.New(o, engine.Options{})
	p, err := vmm.NewElastic(e, vmm.ElasticConfig{LimitBytes: 64 << 20, PageBytes: page, ReadyPages: noneReady, Stepped: true})
	require.NoError(t, err)
	model, err := p.Register(id, vmm.ModelConfig{VirtualBytes: 64 << 20})
	require.NoError(t, err)
	allocate := func(offset uint64) func() error {
		return func() error { _, err := p.AllocAt(id, offset, run); return err }
	}
	free := func(offset uint64) func() error {
		return func() error { return p.Free(id, offset, run, nil) }
	}
	settle := operation{do: model.Synchronize}
	return []operation{
		{name: "elastic pool: allocate 4 new pages", do: allocate(0)},
		{name: "elastic pool: free 4 pages", do: free(0)},
		settle,
		{name: "elastic pool: allocate 4 parked pages", do: allocate(0)},
		{do: free(0)},
		settle,
		{name: "elastic pool: allocate 4 reused pages at another address", do: allocate(run)},
		{name: "elastic pool: put 4 pages to sleep", byWorkers: true, do: func() error {
			_, err := p.Sleep(context.Background(), id, vmm.SleepRequest{Streams: 1, Stream: o.DefaultStream()})
			return err
		}},
		{name: "elastic pool: wake 4 pages", byWorkers: true, do: func() error {
			_, err := p.Wake(context.Background(), id, vmm.WakeRequest{Streams: 1})
			return err
		}},
		{do: free(run)},
		settle,
		{do: func() error { return p.Close(false) }},
	}
}
