package coretest

import (
	"context"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm"
)

func virtualProgram(r *rig) []step {
	var p *vmm.Pool
	have := func(do func() error) func() error {
		return func() error {
			if p == nil {
				return errMissing
			}
			return do()
		}
	}
	taken := map[uint64]uint64{}
	allocate := func(first, pages uint64, tag string) func() error {
		return have(func() error {
			_, err := p.AllocTagged(vmm.AllocRequest{OffsetBytes: first * page, SizeBytes: pages * page, Tag: tag})
			if err == nil {
				taken[first] = pages
			}
			return err
		})
	}
	free := func(first uint64, s func() device.Stream) func() error {
		return have(func() error {
			if taken[first] == 0 {
				return errMissing
			}
			err := p.Free(first*page, taken[first]*page, s())
			if err == nil {
				delete(taken, first)
			}
			return err
		})
	}
	none := func() device.Stream { return nil }
	list := []vmm.ByteRange{{OffsetBytes: 12 * page, SizeBytes: page}, {SizeBytes: 2 * page}, {OffsetBytes: 28 * page, SizeBytes: 2 * page}}
	sleep := func(request vmm.SleepRequest) func() error {
		return have(func() error { _, err := p.Sleep(context.Background(), request); return err })
	}
	wake := have(func() error {
		if stats := p.Stats(); stats.AsleepBytes == 0 {
			return errMissing
		}
		_, err := p.Wake(context.Background(), vmm.WakeRequest{})
		return err
	})
	slept := have(func() error {
		if taken[20] == 0 {
			return errMissing
		}
		return sleep(vmm.SleepRequest{Tag: "kv", Backing: vmm.SleepDiscard})()
	})
	return []step{
		{"create", func() error {
			made, err := vmm.NewPool(r.engines[0], vmm.Config{
				Name: "p", CapacityBytes: 32 * page, PageBytes: page, LimitBytes: 24 * page, ReadyPages: -1,
			})
			if err == nil {
				p = made
				r.atEnd(func() error { return p.Close(true) })
			}
			return err
		}},
		{"allocate", allocate(2, 3, "weights")},
		{"allocate beside", allocate(5, 2, "weights")},
		{"allocate apart", allocate(20, 4, "kv")},
		{"work", have(func() error {
			if taken[20] == 0 {
				return errMissing
			}
			at := p.BaseAddress() + device.Addr(20*page)
			return r.devices[0].DefaultStream().Fill(at, device.Pattern{Value: 9, WidthBytes: 1}, 4*page)
		})},
		{"free", free(20, none)},
		{"allocate after", allocate(20, 4, "kv")},
		{"free beside", free(5, r.devices[0].DefaultStream)},
		{"allocate batch", have(func() error {
			err := p.AllocBatch(list, vmm.BatchRequest{Tag: "batch"})
			if err == nil {
				taken[list[0].OffsetBytes/page] = 1
			}
			return err
		})},
		{"free batch", have(func() error {
			if taken[list[0].OffsetBytes/page] == 0 {
				return errMissing
			}
			err := p.FreeBatch(list, nil)
			if err == nil {
				delete(taken, list[0].OffsetBytes/page)
			}
			return err
		})},
		{"sleep", sleep(vmm.SleepRequest{Streams: 1})},
		{"wake", wake},
		{"sleep discarding", slept},
		{"wake zeros", wake},
		{"synchronize", have(func() error { return p.Synchronize() })},
		{"compact", have(func() error { _, err := p.Compact(); return err })},
		{"trim", have(func() error { _, err := p.Physical().Trim(0); return err })},
		{"limit", have(func() error { return p.SetLimit(16 * page) })},
		{"allocate last", allocate(10, 5, "")},
		{"free last", free(10, none)},
	}
}

func sharedProgram(r *rig) []step {
	var s *vmm.Elastic
	models := map[string]*vmm.Model{}
	taken := map[string]vmm.Allocation{}
	with := func(id string, do func(m *vmm.Model) error) func() error {
		return func() error {
			if models[id] == nil {
				return errMissing
			}
			return do(models[id])
		}
	}
	register := func(id string, guaranteed uint64) func() error {
		return func() error {
			if s == nil {
				return errMissing
			}
			m, err := s.Register(id, vmm.ModelConfig{VirtualBytes: 32 * page, GuaranteedBytes: guaranteed * page})
			if err == nil {
				models[id] = m
			}
			return err
		}
	}
	allocate := func(id string, pages uint64) func() error {
		return with(id, func(m *vmm.Model) error {
			if stats := s.GlobalStats(); stats.PhysicalBytes > 10*page-pages*page {
				return errMissing
			}
			a, err := m.AllocTagged(vmm.AllocRequest{SizeBytes: pages * page, Tag: "weights"})
			if err == nil {
				taken[id] = a
			}
			return err
		})
	}
	free := func(id string) func() error {
		return with(id, func(m *vmm.Model) error {
			a := taken[id]
			if a.SizeBytes == 0 {
				return errMissing
			}
			err := m.Free(a.OffsetBytes, a.SizeBytes, r.devices[0].DefaultStream())
			if err == nil {
				taken[id] = vmm.Allocation{}
			}
			return err
		})
	}
	sleep := func(m *vmm.Model) error {
		_, err := m.Sleep(context.Background(), vmm.SleepRequest{Streams: 1})
		return err
	}
	wake := func(m *vmm.Model) error {
		if stats := m.Stats(); stats.AsleepBytes == 0 {
			return errMissing
		}
		_, err := m.Wake(context.Background(), vmm.WakeRequest{})
		return err
	}
	return []step{
		{"create", func() error {
			made, err := vmm.NewElastic(r.engines[0], vmm.ElasticConfig{
				Name: "s", LimitBytes: 10 * page, PageBytes: page, ReadyPages: -1,
			})
			if err == nil {
				s = made
				r.atEnd(func() error { return s.Close(true) })
			}
			return err
		}},
		{"register", register("a", 2)},
		{"register second", register("b", 2)},
		{"allocate", allocate("a", 4)},
		{"allocate second", allocate("b", 3)},
		{"free", free("a")},
		{"allocate after", allocate("a", 6)},
		{"sleep", with("a", sleep)},
		{"free second", free("b")},
		{"allocate more", allocate("b", 7)},
		{"sleep second", with("b", sleep)},
		{"wake", with("a", wake)},
		{"reclaim", func() error {
			if s == nil || models["b"] == nil {
				return errMissing
			}
			reclaim, err := s.OnReclaim("b", time.Minute, func(uint64) uint64 { return 0 })
			if err == nil {
				reclaim.Remove(false)
			}
			return err
		}},
		{"free third", free("a")},
		{"trim", func() error {
			if s == nil {
				return errMissing
			}
			_, err := s.Physical().Trim(0)
			return err
		}},
		{"unregister", func() error {
			if models["b"] == nil {
				return errMissing
			}
			err := s.Unregister("b", true)
			if err == nil {
				delete(models, "b")
			}
			return err
		}},
		{"allocate last", allocate("a", 5)},
	}
}
