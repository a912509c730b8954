package library_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
)

// expected has the errors that a correct program may get when other threads destroy its
// objects and stop the library at any moment.
var expected = []device.Code{
	device.CodeOK, device.CodeNotInitialized, device.CodeInvalidHandle,
	device.CodeBusy, device.CodeOutOfMemory, device.CodeTimeout, device.CodeInvalidArgument,
	device.CodeCancelled,
	// An address that another thread has freed, and that may be in use again.
	device.CodeDoubleFree, device.CodeInvalidAddress, device.CodeNotFound,
}

// shelf has handles that all workers share, including invalid ones.
type shelf struct{ slots [6]atomic.Uint64 }

func (s *shelf) put(r *rand.Rand, handle uint64, err error) error {
	if err == nil {
		s.slots[r.IntN(len(s.slots))].Store(handle)
	}
	return err
}

func (s *shelf) any(r *rand.Rand) uint64 { return s.slots[r.IntN(len(s.slots))].Load() }

// hammer has everything that the workers share.
type hammer struct {
	*library.Library
	ids                                                              []string
	devices, pools, managers, streams, events, memory, registrations shelf
	addresses                                                        shelf
}

// step makes one random call.
func (h *hammer) step(r *rand.Rand) error {
	settings := smallPool()
	settings.Strategy, settings.PhysicalPageBytes = "", 0
	force := r.IntN(2) == 0
	optional := func() uint64 {
		if force {
			return 0
		}
		return h.streams.any(r)
	}
	calls := []func() error{
		func() error { d, err := h.DeviceOpen(h.ids[r.IntN(len(h.ids))]); return h.devices.put(r, d, err) },
		func() error {
			return end(h.Device, h.devices.any(r), func(o *library.Device) error { return o.Close(force) })
		},
		func() error {
			return do(h.Device, h.devices.any(r), func(o *library.Device) error { o.Info(); return nil })
		},
		func() error {
			return do(h.Device, h.devices.any(r), func(o *library.Device) error { return second(o.MemoryInfo()) })
		},
		func() error {
			return do(h.Device, h.devices.any(r), func(o *library.Device) error { o.Statistics(); return nil })
		},
		func() error {
			return do(h.Device, h.devices.any(r), func(o *library.Device) error { return o.Synchronize(time.Millisecond) })
		},
		func() error { return second(h.SnapshotJSON()) },
		func() error { h.LeakReportJSON(); return nil },
		func() error { return second(h.BackendsJSON()) },
		func() error { p, err := h.PoolCreate(h.devices.any(r), settings); return h.pools.put(r, p, err) },
		func() error {
			return end(h.Pool, h.pools.any(r), func(o *library.Pool) error { return o.Destroy(force) })
		},
		func() error {
			return do(h.Pool, h.pools.any(r), func(o *library.Pool) error { return second(o.Trim(0)) })
		},
		func() error {
			return do(h.Pool, h.pools.any(r), func(o *library.Pool) error { o.Statistics(); return nil })
		},
		func() error {
			return do(h.Pool, h.pools.any(r), func(o *library.Pool) error { return o.Reset(optional()) })
		},
		func() error {
			return do(h.Pool, h.pools.any(r), func(o *library.Pool) error { return o.SetMinHeld(r.Uint64N(4) << 20) })
		},
		func() error {
			return do(h.Pool, h.pools.any(r), func(o *library.Pool) error { return o.SetReleaseThreshold(r.Uint64N(4) << 20) })
		},
		func() error {
			err := do(h.Device, h.devices.any(r), func(o *library.Device) error { return second(o.Owner(device.Addr(h.addresses.any(r)))) })
			return err
		},
		func() error {
			m, err := h.ManagerCreate(h.devices.any(r), &manager.Config{EnableTracking: true, GCThreshold: 0.5,
				EnableAutoGC: true, MaxConcurrentTransfers: 2, PoolConfigs: managerPools()})
			return h.managers.put(r, m, err)
		},
		func() error {
			return end(h.Manager, h.managers.any(r), func(o *library.Manager) error { return o.Destroy(force) })
		},
		func() error {
			return do(h.Manager, h.managers.any(r), func(o *library.Manager) error { return second(o.Defragment()) })
		},
		func() error {
			return do(h.Manager, h.managers.any(r), func(o *library.Manager) error { return second(o.DefragmentWithin(time.Millisecond)) })
		},
		func() error {
			return do(h.Manager, h.managers.any(r), func(o *library.Manager) error { o.Statistics(); return nil })
		},
		func() error { s, err := h.StreamCreate(h.devices.any(r)); return h.streams.put(r, s, err) },
		func() error { s, err := h.StreamDefault(h.devices.any(r)); return h.streams.put(r, s, err) },
		func() error { return h.StreamDestroy(h.streams.any(r), force) },
		func() error {
			return ofFactory(h.Library, func(f *manager.Factory) error {
				return f.HostFunction(manager.StreamHandle(h.streams.any(r)), func() {})
			})
		},
		func() error {
			return ofFactory(h.Library, func(f *manager.Factory) error {
				return f.SynchronizeStream(manager.StreamHandle(h.streams.any(r)), time.Millisecond)
			})
		},
		func() error {
			var e manager.EventHandle
			err := ofFactory(h.Library, func(f *manager.Factory) (err error) {
				e, err = f.RecordEvent(manager.StreamHandle(h.streams.any(r)))
				return err
			})
			return h.events.put(r, uint64(e), err)
		},
		func() error {
			return ofFactory(h.Library, func(f *manager.Factory) error {
				return f.WaitEvent(manager.StreamHandle(h.streams.any(r)), manager.EventHandle(h.events.any(r)))
			})
		},
		func() error {
			return ofFactory(h.Library, func(f *manager.Factory) error { return f.DestroyEvent(manager.EventHandle(h.events.any(r))) })
		},
		func() error {
			return ofFactory(h.Library, func(f *manager.Factory) error { return second(f.IsEventReady(manager.EventHandle(h.events.any(r)))) })
		},
		func() error { return second(h.MemoryGetHandleInfo(h.memory.any(r))) },
		func() error {
			return ofFactory(h.Library, func(f *manager.Factory) error {
				return f.FillAsync(manager.Fill{Memory: manager.MemoryHandle(h.memory.any(r)), SizeBytes: 64,
					Pattern: device.Pattern{Value: 1, WidthBytes: 1}}, manager.StreamHandle(optional()))
			})
		},
		func() error {
			return ofFactory(h.Library, func(f *manager.Factory) error {
				return f.CopyAsync(manager.NewTransfer(manager.MemoryHandle(h.memory.any(r)),
					manager.MemoryHandle(h.memory.any(r)), 64), manager.StreamHandle(optional()))
			})
		},
		func() error {
			id, err := h.PressureCallbackAdd(h.devices.any(r), 1, func(uint64, int32) { h.LeakReportJSON() })
			return h.registrations.put(r, id, err)
		},
		func() error {
			id, err := h.ReclaimCallbackAdd(h.devices.any(r), 2, engine.ReclaimConfig{}, func(d, _ uint64) uint64 {
				_ = do(h.Device, d, func(o *library.Device) error { return second(o.MemoryInfo()) })
				return 0
			})
			return h.registrations.put(r, id, err)
		},
		func() error { return h.RegistrationRemove(h.registrations.any(r), nil) },
		func() error { return h.SetLog(library.LogDebug, func(int32, string) {}, true) },
		func() error { return h.SetLog(library.LogDebug, nil, true) },
		func() error { return h.Init(nil) },
		func() error { return h.Shutdown(force && r.IntN(4) == 0) },
	}
	// Allocations are as frequent as all other calls together.
	hot := []func() error{
		func() error {
			addr, err := h.PoolAlloc(h.pools.any(r), 1+r.Uint64N(4096), optional())
			return h.addresses.put(r, uint64(addr), err)
		},
		func() error { return h.PoolFree(h.pools.any(r), device.Addr(h.addresses.any(r)), optional()) },
		func() error {
			var both [2]device.Addr
			err := do(h.Pool, h.pools.any(r), func(o *library.Pool) error { return o.AllocBatch(1+r.Uint64N(4096), optional(), both[:]) })
			_ = h.addresses.put(r, uint64(both[0]), err)
			return h.addresses.put(r, uint64(both[1]), err)
		},
		func() error {
			both := []device.Addr{device.Addr(h.addresses.any(r)), device.Addr(h.addresses.any(r))}
			return do(h.Pool, h.pools.any(r), func(o *library.Pool) error { return o.FreeBatch(both, optional()) })
		},
		func() error {
			return do(h.Pool, h.pools.any(r), func(o *library.Pool) error { return o.RecordStream(device.Addr(h.addresses.any(r)), optional()) })
		},
		func() error {
			var m manager.MemoryHandle
			err := do(h.Manager, h.managers.any(r), func(o *library.Manager) (err error) {
				m, err = o.Alloc(64 + r.Uint64N(4096))
				return err
			})
			return h.memory.put(r, uint64(m), err)
		},
		func() error {
			return ofFactory(h.Library, func(f *manager.Factory) error { return f.Free(manager.MemoryHandle(h.memory.any(r))) })
		},
	}
	if r.IntN(2) == 0 {
		return hot[r.IntN(len(hot))]()
	}
	return calls[r.IntN(len(calls))]()
}

func managerPools() map[manager.MemoryType]pool.Config {
	small := *smallPool()
	small.PhysicalPageBytes = 0
	return map[manager.MemoryType]pool.Config{manager.General: small}
}

// run makes steps on several workers concurrently and then stops the library.
func (h *hammer) run(t *testing.T, steps int) {
	require.NoError(t, h.Init(nil))
	var workers []<-chan struct{}
	wrong := make(chan error, 4)
	for seed := range uint64(4) {
		workers = append(workers, device.Go("hammer", func() {
			r := rand.New(rand.NewPCG(seed, 0))
			for range steps {
				if err := h.step(r); !slices.Contains(expected, device.CodeOf(err)) {
					wrong <- err
					return
				}
			}
		}))
	}
	for _, worker := range workers {
		<-worker
	}
	select {
	case err := <-wrong:
		require.NoError(t, err)
	default:
	}
	// Init and Shutdown were called at random: undo the remaining Inits.
	for {
		err := h.Shutdown(true)
		if device.CodeOf(err) == device.CodeNotInitialized {
			break
		}
		require.NoError(t, err)
	}
	require.NoError(t, h.Init(nil))
	require.Equal(t, `{"leaks":[],"omitted":0,"total_bytes":0}`, strings.TrimSpace(string(h.LeakReportJSON())))
	require.NoError(t, h.Shutdown(false))
}

// Any call from any thread at any time, including a stop of the library: nothing
// crashes, hangs, or is left on the devices.
func TestAnyCallFromAnyThreadLeavesNothing(t *testing.T) {
	b := newBench(t)
	h := &hammer{Library: b.Library, ids: []string{"test:0", "test:1"}}
	h.run(t, 2000)
	for index := range 2 {
		if dev := b.device(index); dev != nil {
			require.Zero(t, dev.Segments())
			require.Zero(t, dev.OpenStreams())
			require.Zero(t, dev.OpenEvents())
		}
	}
}
