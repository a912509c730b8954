package coretest

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

// largeProgram creates and uses a large page. It then allocates a short block in the place
// of the large page, which the pool first has to release. At the end it creates a large
// page again and releases it.
func largeProgram(r *rig) []step {
	const long = 32<<20 + page
	var p *pool.Pool
	var block, short pool.Block
	c := pool.DefaultConfig()
	c.InitialSizeBytes, c.GrowthIncrementBytes, c.ReadyPages, c.Paging = page, page, -1, pool.PagingOn
	alloc := func(to *pool.Block, size uint64) func() error {
		return func() error {
			if p == nil {
				return errMissing
			}
			got, err := p.Alloc(pool.Request{SizeBytes: size})
			if err == nil {
				*to = got
			}
			return err
		}
	}
	free := func(block *pool.Block) func() error {
		return func() error {
			if block.Addr == 0 {
				return errMissing
			}
			err := p.Free(block.Addr, nil)
			if err == nil {
				*block = pool.Block{}
			}
			return err
		}
	}
	trim := func() error {
		if p == nil {
			return errMissing
		}
		_, err := p.Trim(0)
		return err
	}
	return []step{
		{"create", func() error {
			made, err := pool.New(r.engines[0], c)
			if err == nil {
				p = made
				p.PauseReturn()
				r.atEnd(func() error { return p.Close(true) })
			}
			return err
		}},
		{"allocate long", alloc(&block, long)},
		{"work", func() error {
			if block.Addr == 0 {
				return errMissing
			}
			return r.devices[0].DefaultStream().Fill(block.Addr, device.Pattern{Value: 7, WidthBytes: 1}, page)
		}},
		{"free long", free(&block)},
		{"allocate short in its place", alloc(&short, 10*kib)},
		{"free short", free(&short)},
		{"trim", trim},
		{"allocate long again", alloc(&block, long)},
		{"free long again", free(&block)},
		{"trim again", trim},
	}
}
