package coretest

import (
	"reflect"
	"runtime"

	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
)

func hostAddr(b []byte) device.HostAddr { return device.HostAddr(reflect.ValueOf(b).Pointer()) }

func managerProgram(r *rig) []step {
	f := r.factory
	var managers [2]*manager.Manager
	var streams [2]manager.StreamHandle
	blocks := map[string]manager.MemoryHandle{}
	var event manager.EventHandle
	var mapping manager.Mapping
	create := func(i int) func() error {
		return func() error {
			c := manager.DefaultConfig()
			small := pool.DefaultConfig()
			small.InitialSizeBytes, small.GrowthIncrementBytes, small.ReadyPages = page, page, -1
			c.PoolConfigs[manager.General] = small
			m, err := f.CreateMemoryManager(r.engines[i], c)
			if err == nil {
				managers[i] = m
			}
			return err
		}
	}
	stream := func(i int) func() error {
		return put(&streams[i], f.CreateStreamManager(r.engines[i]).CreateStream)
	}
	allocate := func(name string, i int, request manager.Request) func() error {
		return func() error {
			if managers[i] == nil {
				return errMissing
			}
			h, err := managers[i].AllocTyped(request)
			if err == nil {
				blocks[name] = h
			}
			return err
		}
	}
	with := func(do func() error, names ...string) func() error {
		return func() error {
			for _, name := range names {
				if blocks[name] == 0 {
					return errMissing
				}
			}
			if streams[0] == 0 || streams[1] == 0 {
				return errMissing
			}
			return do()
		}
	}
	free := func(name string) func() error {
		return with(func() error {
			err := f.Free(blocks[name])
			if err == nil {
				delete(blocks, name)
			}
			return err
		}, name)
	}
	bytes := make([]byte, 20*kib)
	general := func(size uint64) manager.Request { return manager.Request{SizeBytes: size, Relocatable: true} }
	steps := []step{
		{"create", create(0)}, {"create second", create(1)}, {"stream", stream(0)}, {"stream second", stream(1)},
		{"allocate a", allocate("a", 0, general(20*kib))}, {"allocate b", allocate("b", 0, general(3*half))},
		{"allocate c", allocate("c", 0, general(3*page/4))}, {"allocate d", allocate("d", 0, general(3*page/4))},
		{"allocate e", allocate("e", 0, general(3*page/4))}, {"allocate other", allocate("other", 1, general(20*kib))},
		{"pinned", allocate("pinned", 0, manager.Request{Type: manager.Pinned, SizeBytes: 64 * kib})},
		{"write", with(func() error {
			defer runtime.KeepAlive(bytes)
			return f.Write(blocks["a"], 0, hostAddr(bytes), uint64(len(bytes)))
		}, "a")},
		{"read", with(func() error {
			defer runtime.KeepAlive(bytes)
			return f.Read(blocks["a"], 0, hostAddr(bytes), uint64(len(bytes)))
		}, "a")},
		{"fill", with(func() error {
			return f.FillAsync(manager.Fill{Memory: blocks["b"], SizeBytes: half,
				Pattern: device.Pattern{Value: 3, WidthBytes: 4}}, streams[0])
		}, "b")},
		{"copy", with(func() error { return f.Copy(manager.NewTransfer(blocks["a"], blocks["b"], 10*kib)) }, "a", "b")},
		{"copy later", with(func() error {
			return f.CopyAsync(manager.NewTransfer(blocks["b"], blocks["a"], 10*kib), streams[0])
		}, "a", "b")},
		{"copy to pinned", with(func() error {
			return f.CopyAsync(manager.NewTransfer(blocks["a"], blocks["pinned"], 10*kib), streams[0])
		}, "a", "pinned")},
		{"copy to other", with(func() error {
			return f.Copy(manager.NewTransfer(blocks["a"], blocks["other"], 18*kib))
		}, "a", "other")},
		{"copy from other", with(func() error {
			return f.CopyAsync(manager.NewTransfer(blocks["other"], blocks["a"], 18*kib), streams[0])
		}, "a", "other")},
	}
	steps = append(steps, step{"link", func() error {
		if managers[0] == nil || managers[1] == nil {
			return errMissing
		}
		first, second, err := f.CreateMapping(managers[0], managers[1], manager.LinkRequest{SizeBytes: 10 * kib})
		if err == nil {
			blocks["first"], blocks["second"] = first, second
		}
		return err
	}}, step{"copy linked", with(func() error {
		return f.Copy(manager.NewTransfer(blocks["a"], blocks["second"], 10*kib))
	}, "a", "second")}, step{"free linked", free("first")}, step{"free linked other", free("second")})
	return append(steps, laterSteps(r, with, free, blocks, &streams, &managers, &event, &mapping)...)
}

func laterSteps(
	r *rig, with func(func() error, ...string) func() error, free func(string) func() error,
	blocks map[string]manager.MemoryHandle, streams *[2]manager.StreamHandle, managers *[2]*manager.Manager,
	event *manager.EventHandle, mapping *manager.Mapping,
) []step {
	f := r.factory
	return []step{
		{"record", with(func() (err error) {
			return put(event, func() (manager.EventHandle, error) { return f.RecordEvent(streams[0]) })()
		})},
		{"wait", with(func() error {
			if *event == 0 {
				return errMissing
			}
			return f.WaitEvent(streams[1], *event)
		})},
		{"synchronize event", func() error {
			if *event == 0 {
				return errMissing
			}
			return f.SynchronizeEvent(*event, device.Forever)
		}},
		{"ready", with(func() error { _, err := f.IsStreamReady(streams[0]); return err })},
		{"function", with(func() error { return f.HostFunction(streams[0], func() {}) })},
		{"synchronize", with(func() error { return f.SynchronizeStream(streams[0], device.Forever) })},
		{"map", with(func() (err error) {
			*mapping, err = f.Map(manager.MapRequest{Memory: blocks["a"], SizeBytes: manager.MapToEnd, Access: manager.HostReadWrite})
			return err
		}, "a")},
		{"unmap", with(func() error {
			if mapping.ID == 0 {
				return errMissing
			}
			err := f.Unmap(blocks["a"], mapping.ID)
			if err == nil {
				*mapping = manager.Mapping{}
			}
			return err
		}, "a")},
		{"free c", free("c")}, {"free b", free("b")},
		{"defragment", func() error {
			if managers[0] == nil {
				return errMissing
			}
			_, err := managers[0].Defragment()
			return err
		}},
		{"copy moved", with(func() error { return f.Copy(manager.NewTransfer(blocks["d"], blocks["e"], half)) }, "d", "e")},
		{"information", func() error {
			if managers[0] == nil {
				return errMissing
			}
			_, err := managers[0].MemoryInfo()
			return err
		}},
		{"free d", free("d")}, {"free a", free("a")}, {"free pinned", free("pinned")}, {"free other", free("other")},
		{"destroy event", func() error {
			if *event == 0 {
				return errMissing
			}
			err := f.DestroyEvent(*event)
			if err == nil {
				*event = 0
			}
			return err
		}},
		{"destroy stream", with(func() error {
			err := f.DestroyStream(streams[0], true)
			if err == nil {
				streams[0] = 0
			}
			return err
		})},
	}
}

func fallbackProgram(r *rig) []step {
	var m *fallback.Manager
	var buffers [3]*fallback.Buffer
	bytes := make([]byte, half)
	make := func(i int, size uint64, place fallback.Place) func() error {
		return func() error {
			if m == nil {
				return errMissing
			}
			b, err := m.Alloc(fallback.Request{Shape: fallback.Shape{DType: fallback.U8, Len: size}, Movable: true, Place: place})
			if err == nil {
				buffers[i] = b
			}
			return err
		}
	}
	with := func(i int, do func(b *fallback.Buffer) error) func() error {
		return func() error {
			if buffers[i] == nil {
				return errMissing
			}
			return do(buffers[i])
		}
	}
	free := func(i int) func() error {
		return with(i, func(b *fallback.Buffer) error {
			err := b.Free(nil)
			if err == nil {
				buffers[i] = nil
			}
			return err
		})
	}
	write := func(b *fallback.Buffer) error {
		defer runtime.KeepAlive(bytes)
		return b.Write(fallback.Part{SizeBytes: half}, hostAddr(bytes))
	}
	read := func(b *fallback.Buffer) error {
		defer runtime.KeepAlive(bytes)
		return b.Read(fallback.Part{SizeBytes: half}, hostAddr(bytes))
	}
	return []step{
		{"create", func() error {
			made, err := fallback.NewManager(r.engines[0], r.engines[2], fallback.DefaultMemoryConfig().WithMinFreeBytes(0).
				WithPreAllocation([]uint64{half}))
			if err == nil {
				m = made
				r.inUse = func() uint64 {
					stats := m.FallbackStats()
					return stats.InUseBytes<<8 + uint64(stats.ActiveBuffers)
				}
				r.atEnd(func() error { return m.Close(true) })
			}
			return err
		}},
		{"make", make(0, half, fallback.OnEither)},
		{"make on gpu", make(1, 3*half, fallback.OnGPU)},
		{"make on host", make(2, half, fallback.OnCPU)},
		{"write", with(0, write)}, {"write on host", with(2, write)},
		{"to cpu", with(1, (*fallback.Buffer).ToCPU)},
		{"to gpu", with(2, (*fallback.Buffer).ToGPU)},
		{"read", with(2, read)},
		{"to gpu again", with(1, (*fallback.Buffer).ToGPU)},
		{"free", free(1)},
		{"shrink", func() error {
			if m == nil {
				return errMissing
			}
			_, err := m.Shrink()
			return err
		}},
		{"free first", free(0)},
		{"make last", make(1, 2*half, fallback.OnGPU)},
		{"free last", free(1)}, {"free third", free(2)},
	}
}
