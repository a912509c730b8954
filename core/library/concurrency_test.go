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

// answers that a correct program may get when its objects are destroyed, and
// the library stopped, by others at any moment.
var expected = []device.Code{
	device.CodeOK, device.CodeNotInitialized, device.CodeInvalidHandle,
	device.CodeBusy, device.CodeOutOfMemory, device.CodeTimeout, device.CodeInvalidArgument,
	device.CodeCancelled,
	// An address that somebody else has freed, and that is in use again or not.
	device.CodeDoubleFree, device.CodeInvalidAddress, device.CodeNotFound,
}

// shelf is handles that all workers share, dead ones among them.
type shelf struct{ slots [6]atomic.Uint64 }

func (s *shelf) put(r *rand.Rand, handle uint64, err error) error {
	if err == nil {
		s.slots[r.IntN(len(s.slots))].Store(handle)
	}
	return err
}

func (s *shelf) any(r *rand.Rand) uint64 { return s.slots[r.IntN(len(s.slots))].Load() }

// hammer is everything that the workers share.
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
	second := func(_ any, err error) error { return err }
	calls := []func() error{
		func() error { d, err := h.DeviceOpen(h.ids[r.IntN(len(h.ids))]); return h.devices.put(r, d, err) },
		func() error { return h.DeviceClose(h.devices.any(r), force) },
		func() error { return second(h.DeviceGetInfo(h.devices.any(r))) },
		func() error { return second(h.DeviceGetMemoryInfo(h.devices.any(r))) },
		func() error { return second(h.DeviceGetStatistics(h.devices.any(r))) },
		func() error { return h.DeviceSynchronize(h.devices.any(r), time.Millisecond) },
		func() error { return second(h.SnapshotJSON()) },
		func() error { h.LeakReportJSON(); return nil },
		func() error { return second(h.BackendsJSON()) },
		func() error { p, err := h.PoolCreate(h.devices.any(r), settings); return h.pools.put(r, p, err) },
		func() error { return h.PoolDestroy(h.pools.any(r), force) },
		func() error { return second(h.PoolTrim(h.pools.any(r), 0)) },
		func() error { return second(h.PoolGetStatistics(h.pools.any(r))) },
		func() error { return h.PoolReset(h.pools.any(r), optional()) },
		func() error { return h.PoolSetMinHeld(h.pools.any(r), r.Uint64N(4)<<20) },
		func() error { return h.PoolSetReleaseThreshold(h.pools.any(r), r.Uint64N(4)<<20) },
		func() error {
			_, err := h.DeviceGetOwner(h.devices.any(r), device.Addr(h.addresses.any(r)))
			return err
		},
		func() error {
			m, err := h.ManagerCreate(h.devices.any(r), &manager.Config{EnableTracking: true, GCThreshold: 0.5,
				EnableAutoGC: true, MaxConcurrentTransfers: 2, PoolConfigs: managerPools()})
			return h.managers.put(r, m, err)
		},
		func() error { return h.ManagerDestroy(h.managers.any(r), force) },
		func() error { return second(h.ManagerDefragment(h.managers.any(r))) },
		func() error { return second(h.ManagerDefragmentWithin(h.managers.any(r), time.Millisecond)) },
		func() error { return second(h.ManagerGetStatistics(h.managers.any(r))) },
		func() error { s, err := h.StreamCreate(h.devices.any(r)); return h.streams.put(r, s, err) },
		func() error { s, err := h.StreamDefault(h.devices.any(r)); return h.streams.put(r, s, err) },
		func() error { return h.StreamDestroy(h.streams.any(r), force) },
		func() error { return h.StreamHostFunction(h.streams.any(r), func() {}) },
		func() error { return h.StreamSynchronize(h.streams.any(r), time.Millisecond) },
		func() error { e, err := h.EventRecord(h.streams.any(r)); return h.events.put(r, e, err) },
		func() error { return h.StreamWaitEvent(h.streams.any(r), h.events.any(r)) },
		func() error { return h.EventDestroy(h.events.any(r)) },
		func() error { return second(h.EventIsReady(h.events.any(r))) },
		func() error { return second(h.MemoryGetHandleInfo(h.memory.any(r))) },
		func() error {
			return h.MemoryFillAsync(manager.Fill{Memory: manager.MemoryHandle(h.memory.any(r)), SizeBytes: 64,
				Pattern: device.Pattern{Value: 1, WidthBytes: 1}}, optional())
		},
		func() error {
			return h.MemoryCopyAsync(manager.NewTransfer(manager.MemoryHandle(h.memory.any(r)),
				manager.MemoryHandle(h.memory.any(r)), 64), optional())
		},
		func() error {
			id, err := h.PressureCallbackAdd(h.devices.any(r), 1, func(uint64, int32) { h.LeakReportJSON() })
			return h.registrations.put(r, id, err)
		},
		func() error {
			id, err := h.ReclaimCallbackAdd(h.devices.any(r), 2, engine.ReclaimConfig{}, func(d, _ uint64) uint64 {
				_, _ = h.DeviceGetMemoryInfo(d)
				return 0
			})
			return h.registrations.put(r, id, err)
		},
		func() error { return h.RegistrationRemove(h.registrations.any(r), 0) },
		func() error { return h.SetLog(library.LogDebug, func(int32, string) {}, true) },
		func() error { return h.SetLog(library.LogDebug, nil, true) },
		func() error { return h.Init(nil) },
		func() error { return h.Shutdown(force && r.IntN(4) == 0) },
	}
	// Allocations are as frequent as all else together.
	hot := []func() error{
		func() error {
			addr, err := h.PoolAlloc(h.pools.any(r), 1+r.Uint64N(4096), optional())
			return h.addresses.put(r, uint64(addr), err)
		},
		func() error { return h.PoolFree(h.pools.any(r), device.Addr(h.addresses.any(r)), optional()) },
		func() error {
			var both [2]device.Addr
			err := h.PoolAllocBatch(h.pools.any(r), 1+r.Uint64N(4096), optional(), both[:])
			_ = h.addresses.put(r, uint64(both[0]), err)
			return h.addresses.put(r, uint64(both[1]), err)
		},
		func() error {
			both := []device.Addr{device.Addr(h.addresses.any(r)), device.Addr(h.addresses.any(r))}
			return h.PoolFreeBatch(h.pools.any(r), both, optional())
		},
		func() error {
			return h.PoolRecordStream(h.pools.any(r), device.Addr(h.addresses.any(r)), optional())
		},
		func() error {
			m, err := h.ManagerAlloc(h.managers.any(r), 64+r.Uint64N(4096))
			return h.memory.put(r, m, err)
		},
		func() error { return h.MemoryFree(h.memory.any(r)) },
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

// run makes steps on several workers at once and then stops the library.
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
	// Init and Shutdown were called at random: undo what is left of them.
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

// Any call from any thread at any time, stopping the library included: nothing
// crashes, hangs, or is left over in the devices.
func TestEverythingAtOnce(t *testing.T) {
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
