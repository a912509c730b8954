package library_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
)

func TestVersionIsTheHeaders(t *testing.T) {
	header, err := os.ReadFile("../../include/ferrum_mem/base.h")
	require.NoError(t, err)
	version := ""
	for i, part := range []string{"MAJOR", "MINOR", "PATCH"} {
		found := regexp.MustCompile(`#define FERRUM_VERSION_` + part + ` (\d+)`).FindSubmatch(header)
		require.NotNil(t, found, part)
		if i > 0 {
			version += "."
		}
		version += string(found[1])
	}
	require.Equal(t, version, library.Version)
}

func TestTheLibraryStopsWithTheLastShutdown(t *testing.T) {
	b := newBench(t)
	requireCode(t, device.CodeNotInitialized, b.Shutdown(false))
	settings := library.Settings{HostDevices: 2}
	require.NoError(t, b.Init(&settings))
	require.NoError(t, b.Init(nil), "nil joins")
	require.NoError(t, b.Init(&library.Settings{HostDevices: 2}), "the same settings join")
	for _, other := range []library.Settings{{}, {HostDevices: 3}, {HostDevices: 2, HostMemoryBytes: 1},
		{HostDevices: 2, HostMemoryForced: true}} {
		err := b.Init(&other)
		requireCode(t, device.CodeInvalidState, err)
		require.ErrorContains(t, err, fmt.Sprintf("host_devices 2, host_memory_bytes 0, forced false, not host_devices %d",
			other.HostDevices))
	}
	handle := b.open("test:0")
	require.NoError(t, b.Shutdown(false), "shutdown succeeds while another user keeps the library started")
	require.NoError(t, b.Shutdown(true), "a forced shutdown frees nothing while another user exists")
	at(b.Device, handle).Info()
	requireCode(t, device.CodeBusy, b.Shutdown(false))
	require.NoError(t, at(b.Device, handle).Close(false))
	require.NoError(t, b.Shutdown(false))
	requireCode(t, device.CodeNotInitialized, b.Shutdown(false))

	require.NoError(t, b.Init(&library.Settings{HostDevices: 3}), "a new start may have other settings")
	err := do(b.Device, handle, func(o *library.Device) error { o.Info(); return nil })
	requireCode(t, device.CodeInvalidHandle, err)
	require.NotEqual(t, handle, b.open("test:0"), "a handle is never used twice")
	require.NoError(t, b.Shutdown(true))
}

func TestInitThatFailsLeavesTheLibraryStopped(t *testing.T) {
	wrong := device.Errorf(device.CodeInvalidConfig, "host.new", "FERRUM_HOST_MEMORY=\"much\" is no size")
	b := newBench(t, func(o *library.Options) {
		drivers, failed := o.Drivers, false
		o.Drivers = func(s library.Settings) ([]device.Driver, error) {
			if !failed {
				failed = true
				return nil, wrong
			}
			return drivers(s)
		}
	})
	require.Same(t, wrong, b.Init(nil))
	_, err := b.DeviceOpen("test:0")
	requireCode(t, device.CodeNotInitialized, err)

	b.env["FERRUM_LOG"] = "loud"
	err = b.Init(nil)
	requireCode(t, device.CodeInvalidConfig, err)
	require.ErrorContains(t, err, `FERRUM_LOG="loud"`)
	b.env["FERRUM_LOG"] = ""

	for value, word := range map[string]string{"zones": "zones", "poison,quarantin": "quarantin", ",": "", "all ,1": "1"} {
		b.env["FERRUM_DEBUG"] = value
		err = b.Init(nil)
		requireCode(t, device.CodeInvalidConfig, err)
		require.ErrorContains(t, err, fmt.Sprintf("FERRUM_DEBUG=%q: %q is not one of red_zones, poison, quarantine, call_sites, all",
			value, word))
	}
	b.env["FERRUM_DEBUG"] = ""
	require.NoError(t, b.Init(nil))
	require.NoError(t, b.Shutdown(false))
}

func TestEveryCallNeedsAStart(t *testing.T) {
	b := newBench(t)
	calls := map[string]error{
		"BackendsJSON":           second(b.BackendsJSON()),
		"DeviceOpen":             second(b.DeviceOpen("test:0")),
		"DeviceClose":            do(b.Device, 1, func(o *library.Device) error { return o.Close(false) }),
		"DeviceGetInfo":          do(b.Device, 1, func(o *library.Device) error { o.Info(); return nil }),
		"DeviceSynchronize":      do(b.Device, 1, func(o *library.Device) error { return o.Synchronize(0) }),
		"DeviceSetLimit":         do(b.Device, 1, func(o *library.Device) error { return o.SetLimit(0) }),
		"DeviceMeasureBandwidth": do(b.Device, 1, func(o *library.Device) error { return second(o.MeasureBandwidth()) }),
		"DeviceGetMemoryInfo":    do(b.Device, 1, func(o *library.Device) error { return second(o.MemoryInfo()) }),
		"DeviceGetStatistics":    do(b.Device, 1, func(o *library.Device) error { o.Statistics(); return nil }),
		"SnapshotJSON":           second(b.SnapshotJSON()),
		"StreamCreate":           second(b.StreamCreate(1)),
		"StreamDestroy":          b.StreamDestroy(1, false),
		"StreamDefault":          second(b.StreamDefault(1)),
		"StreamSynchronize":      ofFactory(b.Library, func(f *manager.Factory) error { return f.SynchronizeStream(manager.StreamHandle(1), 0) }),
		"StreamIsReady":          ofFactory(b.Library, func(f *manager.Factory) error { return second(f.IsStreamReady(manager.StreamHandle(1))) }),
		"StreamHostFunction":     ofFactory(b.Library, func(f *manager.Factory) error { return f.HostFunction(manager.StreamHandle(1), func() {}) }),
		"StreamWaitEvent":        ofFactory(b.Library, func(f *manager.Factory) error { return f.WaitEvent(manager.StreamHandle(1), manager.EventHandle(1)) }),
		"EventRecord":            ofFactory(b.Library, func(f *manager.Factory) error { return second(f.RecordEvent(manager.StreamHandle(1))) }),
		"EventDestroy":           ofFactory(b.Library, func(f *manager.Factory) error { return f.DestroyEvent(manager.EventHandle(1)) }),
		"EventIsReady":           ofFactory(b.Library, func(f *manager.Factory) error { return second(f.IsEventReady(manager.EventHandle(1))) }),
		"EventSynchronize":       ofFactory(b.Library, func(f *manager.Factory) error { return f.SynchronizeEvent(manager.EventHandle(1), 0) }),
		"EventElapsed": ofFactory(b.Library, func(f *manager.Factory) error {
			return second(f.EventElapsed(manager.EventHandle(1), manager.EventHandle(1)))
		}),
		"PoolCreate":        second(b.PoolCreate(1, nil)),
		"PoolDestroy":       do(b.Pool, 1, func(o *library.Pool) error { return o.Destroy(false) }),
		"PoolAlloc":         second(b.PoolAlloc(1, 1, 0)),
		"PoolFree":          b.PoolFree(1, 1, 0),
		"PoolTrim":          do(b.Pool, 1, func(o *library.Pool) error { return second(o.Trim(0)) }),
		"PoolSetLimit":      do(b.Pool, 1, func(o *library.Pool) error { return o.SetLimit(0) }),
		"PoolGetStatistics": do(b.Pool, 1, func(o *library.Pool) error { o.Statistics(); return nil }),
		"PoolAllocWith": do(b.Pool, 1, func(o *library.Pool) error {
			return second(o.AllocWith(library.PoolRequest{Request: pool.Request{SizeBytes: 1}}))
		}),
		"PoolAllocBatch":          do(b.Pool, 1, func(o *library.Pool) error { return o.AllocBatch(1, 0, make([]device.Addr, 1)) }),
		"PoolGetTag":              do(b.Pool, 1, func(o *library.Pool) error { return second(o.Tag("kv")) }),
		"PoolFreeSized":           do(b.Pool, 1, func(o *library.Pool) error { return o.FreeSized(1, 1, 0) }),
		"PoolFreeBatch":           do(b.Pool, 1, func(o *library.Pool) error { return o.FreeBatch(make([]device.Addr, 1), 0) }),
		"PoolRecordStream":        do(b.Pool, 1, func(o *library.Pool) error { return o.RecordStream(1, 0) }),
		"PoolUsableSize":          do(b.Pool, 1, func(o *library.Pool) error { return second(o.UsableSize(1)) }),
		"PoolReset":               do(b.Pool, 1, func(o *library.Pool) error { return o.Reset(0) }),
		"PoolCheck":               do(b.Pool, 1, func(o *library.Pool) error { return o.Check() }),
		"PoolSetMinHeld":          do(b.Pool, 1, func(o *library.Pool) error { return o.SetMinHeld(0) }),
		"PoolSetReleaseThreshold": do(b.Pool, 1, func(o *library.Pool) error { return o.SetReleaseThreshold(0) }),
		"DeviceGetOwner":          do(b.Device, 1, func(o *library.Device) error { return second(o.Owner(1)) }),
		"ManagerCreate":           second(b.ManagerCreate(1, nil)),
		"ManagerDestroy":          do(b.Manager, 1, func(o *library.Manager) error { return o.Destroy(false) }),
		"ManagerConfigurePool":    do(b.Manager, 1, func(o *library.Manager) error { return o.ConfigurePool(manager.General, nil) }),
		"ManagerGetStatistics":    do(b.Manager, 1, func(o *library.Manager) error { o.Statistics(); return nil }),
		"ManagerAlloc":            do(b.Manager, 1, func(o *library.Manager) error { return second(o.Alloc(1)) }),
		"ManagerAllocWith":        do(b.Manager, 1, func(o *library.Manager) error { return second(o.AllocTyped(manager.Request{})) }),
		"MemoryFree":              ofFactory(b.Library, func(f *manager.Factory) error { return f.Free(manager.MemoryHandle(1)) }),
		"MemoryGetHandleInfo":     second(b.MemoryGetHandleInfo(1)),
		"MemoryCopy":              ofFactory(b.Library, func(f *manager.Factory) error { return f.Copy(manager.Transfer{}) }),
		"MemoryCopyAsync":         ofFactory(b.Library, func(f *manager.Factory) error { return f.CopyAsync(manager.Transfer{}, manager.StreamHandle(0)) }),
		"MemoryWrite":             ofFactory(b.Library, func(f *manager.Factory) error { return f.Write(manager.MemoryHandle(1), 0, 0, 1) }),
		"MemoryRead":              ofFactory(b.Library, func(f *manager.Factory) error { return f.Read(manager.MemoryHandle(1), 0, 0, 1) }),
		"MemoryFillAsync":         ofFactory(b.Library, func(f *manager.Factory) error { return f.FillAsync(manager.Fill{}, manager.StreamHandle(0)) }),
		"ManagerDefragment":       do(b.Manager, 1, func(o *library.Manager) error { return second(o.Defragment()) }),
		"ManagerDefragmentWithin": do(b.Manager, 1, func(o *library.Manager) error { return second(o.DefragmentWithin(0)) }),
		"MemoryPin":               ofFactory(b.Library, func(f *manager.Factory) error { return second(f.Pin(manager.MemoryHandle(1))) }),
		"MemoryUnpin":             ofFactory(b.Library, func(f *manager.Factory) error { return f.Unpin(manager.MemoryHandle(1)) }),
		"PressureCallbackAdd":     second(b.PressureCallbackAdd(1, 0, func(uint64, int32) {})),
		"RegistrationRemove":      b.RegistrationRemove(1, nil),
	}
	for name, err := range calls {
		require.Equal(t, device.CodeNotInitialized, device.CodeOf(err), "%s: %v", name, err)
	}
}

func TestForcedShutdownFreesEverythingAndKeepsTheReport(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.Init(nil))
	p, m, stream := b.fill("test:0")
	// The stop waits for a stream with queued work.
	b.fill("test:1")
	ran := false
	require.NoError(t, ofFactory(b.Library, func(f *manager.Factory) error {
		return f.HostFunction(manager.StreamHandle(stream), func() { ran = true })
	}))

	before := b.leaks()
	err := b.Shutdown(false)
	requireCode(t, device.CodeBusy, err)
	require.ErrorContains(t, err,
		"2 devices, 2 pools, 2 managers, 2 streams, 2 events, 2 registrations and 4 blocks")
	require.Equal(t, before.kinds(), b.leaks().kinds(), "a refused shutdown changes nothing")
	_, err = b.PoolAlloc(p, 100, stream)
	require.NoError(t, err)

	require.NoError(t, b.Shutdown(true))
	require.True(t, ran)
	after := b.leaks()
	require.Equal(t, map[string]int{"device": 2, "pool": 2, "manager": 2, "block": 3, "memory": 2,
		"stream": 2, "event": 2, "registration": 2}, after.kinds())
	require.EqualValues(t, 2*(1000+2000)+100, after.TotalBytes)
	for index := range 2 {
		require.Zero(t, b.device(index).Segments())
		require.Zero(t, b.device(index).OpenStreams())
		require.Zero(t, b.device(index).OpenEvents())
	}

	require.NoError(t, b.Init(nil))
	require.Empty(t, b.leaks().Leaks, "a new start is without leaks")
	_, err = b.PoolAlloc(p, 1, 0)
	requireCode(t, device.CodeInvalidHandle, err)
	err = do(b.Manager, m, func(o *library.Manager) error { return second(o.Alloc(1)) })
	requireCode(t, device.CodeInvalidHandle, err)
	requireCode(t, device.CodeInvalidHandle, ofFactory(b.Library, func(f *manager.Factory) error { return f.SynchronizeStream(manager.StreamHandle(stream), 0) }))
	require.NoError(t, b.Shutdown(false))
	require.Empty(t, b.leaks().Leaks, "a clean stop leaves a clean report")
}

// fill creates one object of each kind on a device, with a pool block of 1000 bytes and
// a manager's block of 2000.
func (b *bench) fill(id string) (p, m, stream uint64) {
	dev := b.open(id)
	p = b.pool(dev)
	_, err := b.PoolAlloc(p, 1000, 0)
	require.NoError(b.t, err)
	config := manager.DefaultConfig()
	config.PoolConfigs[manager.General] = *smallPool()
	m, err = b.ManagerCreate(dev, &config)
	require.NoError(b.t, err)
	_, err = at(b.Manager, m).AllocTyped(manager.Request{SizeBytes: 2000, Tag: "weights"})
	require.NoError(b.t, err)
	stream, err = b.StreamCreate(dev)
	require.NoError(b.t, err)
	_, err = made(b).RecordEvent(manager.StreamHandle(stream))
	require.NoError(b.t, err)
	_, err = b.PressureCallbackAdd(dev, 0, func(uint64, int32) {})
	require.NoError(b.t, err)
	return p, m, stream
}

func TestForcedShutdownThatTheDriverRefusesCanBeTriedAgain(t *testing.T) {
	overBoth(t, forcedShutdownTwice)
}

func forcedShutdownTwice(t *testing.T) {
	for _, call := range []devicetest.Call{giveBackCall(), devicetest.DeviceClose, devicetest.StreamClose} {
		t.Run(string(call), func(t *testing.T) {
			b := newBench(t)
			require.NoError(t, b.Init(nil))
			b.fill("test:0")
			b.device(0).FailNth(call, 1, nil)
			requireCode(t, device.CodeDevice, b.Shutdown(true))
			require.Contains(t, b.leaks().kinds(), "device", "what could not be freed is still there")
			_, err := b.DeviceOpen("test:0")
			require.NoError(t, err)
			require.NoError(t, at(b.Device, b.leaks().Leaks[0].Handle).Close(false))
			require.NoError(t, b.Shutdown(true))
			require.Zero(t, b.device(0).HeldBytes())
			requireCode(t, device.CodeNotInitialized, b.Shutdown(true))
		})
	}
}

func TestShutdownFromACallbackIsRefused(t *testing.T) {
	inside := false
	b := startBench(t, func(o *library.Options) {
		o.InsideCallback = func(token uint64) bool { return token == 0 && inside }
	})
	inside = true
	requireCode(t, device.CodeInvalidState, b.Shutdown(true))
	inside = false
	_, err := b.BackendsJSON()
	require.NoError(t, err)
}

func TestInitDuringAForcedShutdown(t *testing.T) {
	type answer struct{ fromHostFunction, open error }
	var inside atomic.Bool
	b := newBench(t, func(o *library.Options) {
		o.InsideCallback = func(uint64) bool { return inside.Load() }
	})
	require.NoError(t, b.Init(nil))
	dev := b.open("test:0")
	stream, err := b.StreamCreate(dev)
	require.NoError(t, err)
	b.device(0).Default().Hold()
	def, err := b.StreamDefault(dev)
	require.NoError(t, err)
	got := make(chan answer, 1)
	running := make(chan struct{})
	// The forced stop waits for this function, which calls the library.
	require.NoError(t, ofFactory(b.Library, func(f *manager.Factory) error {
		return f.HostFunction(manager.StreamHandle(def), func() {
			inside.Store(true)
			_, openErr := b.DeviceOpen("test:1")
			got <- answer{fromHostFunction: b.Init(nil), open: openErr}
			inside.Store(false)
		})
	}))
	stopped := device.Go("shutdown", func() {
		close(running)
		if err := b.Shutdown(true); err != nil {
			panic(err)
		}
	})
	<-running
	for {
		err := ofFactory(b.Library, func(f *manager.Factory) error { return second(f.IsStreamReady(manager.StreamHandle(stream))) })
		if errors.Is(err, device.CodeNotInitialized) {
			break
		}
		runtime.Gosched()
	}
	// Another thread's Init waits for the end of the stop.
	joined := device.Go("init", func() {
		b.device(0).Default().Release()
		if err := b.Init(nil); err != nil {
			panic(err)
		}
	})
	result := <-got
	requireCode(t, device.CodeInvalidState, result.fromHostFunction)
	requireCode(t, device.CodeNotInitialized, result.open)
	<-stopped
	<-joined
	require.NoError(t, b.Shutdown(false))
}
