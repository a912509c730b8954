package coretest

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

func poolProgram(paged bool) func(r *rig) []step {
	return func(r *rig) []step {
		var p *pool.Pool
		var s device.Stream
		var blocks [4]pool.Block
		batch := make([]device.Addr, 6)
		c := pool.DefaultConfig()
		c.InitialSizeBytes, c.GrowthIncrementBytes, c.ReadyPages = page, page, -1
		c.Paging = pool.PagingOff
		if paged {
			c.Paging = pool.PagingOn
		}
		alloc := func(i int, size uint64) func() error {
			return func() error {
				if p == nil || s == nil {
					return errMissing
				}
				block, err := p.Alloc(pool.Request{SizeBytes: size, Stream: s})
				if err == nil {
					blocks[i] = block
				}
				return err
			}
		}
		free := func(i int) func() error {
			return func() error {
				if blocks[i].Addr == 0 {
					return errMissing
				}
				err := p.Free(blocks[i].Addr, s)
				if err == nil {
					blocks[i] = pool.Block{}
				}
				return err
			}
		}
		have := func(do func() error) func() error {
			return func() error {
				if p == nil || s == nil {
					return errMissing
				}
				return do()
			}
		}
		return []step{
			{"create", func() (err error) {
				made, err := pool.New(r.engines[0], c)
				if err == nil {
					p = made
					r.atEnd(func() error { return p.Close(true) })
				}
				return err
			}},
			{"stream", func() error {
				made, err := r.devices[0].NewStream()
				if err == nil {
					s = made
					// This closer is inserted first, so that the pools of the stream are
					// closed before it.
					r.closers = append([]func() error{s.Close}, r.closers...)
				}
				return err
			}},
			{"allocate", alloc(0, 3*half)},
			{"allocate small", alloc(1, 10*kib)},
			{"allocate large", alloc(2, 7*half)},
			{"work", have(func() error {
				if blocks[2].Addr == 0 {
					return errMissing
				}
				return s.Fill(blocks[2].Addr, device.Pattern{Value: 7, WidthBytes: 1}, blocks[2].SizeBytes)
			})},
			{"work of 8 bytes", have(func() error {
				if blocks[1].Addr == 0 {
					return errMissing
				}
				return s.Fill(blocks[1].Addr, device.Pattern{Value: 1<<40 | 7, WidthBytes: 8}, blocks[1].SizeBytes)
			})},
			{"free", free(2)},
			{"allocate again", alloc(2, 7*half)},
			{"allocate more", alloc(3, 5*half)},
			{"record", have(func() error {
				if blocks[0].Addr == 0 {
					return errMissing
				}
				return p.RecordStream(blocks[0].Addr, r.devices[0].DefaultStream())
			})},
			{"free recorded", free(0)},
			{"batch", have(func() error { return p.AllocBatch(pool.Request{SizeBytes: 20 * kib}, batch) })},
			{"free batch", have(func() error {
				if batch[0] == 0 {
					return errMissing
				}
				err := p.FreeBatch(batch, s)
				if err == nil {
					clear(batch)
				}
				return err
			})},
			{"free more", free(3)},
			{"synchronize", have(func() error { return s.Synchronize(device.Forever) })},
			{"trim", have(func() error { _, err := p.Trim(0); return err })},
			{"return", have(func() error { _, err := p.ReturnIdle(); return err })},
			{"reset", have(func() error {
				err := p.Reset(s)
				if err == nil {
					blocks = [4]pool.Block{}
				}
				return err
			})},
			{"allocate after", alloc(0, 3*half)},
			{"free after", free(0)},
		}
	}
}
