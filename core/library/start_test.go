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

func TestInitIsCounted(t *testing.T) {
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
	require.NoError(t, b.Shutdown(false), "not the last user: what is open does not matter")
	require.NoError(t, b.Shutdown(true), "nor does force free anything yet")
	_, err := b.DeviceGetInfo(handle)
	require.NoError(t, err)
	requireCode(t, device.CodeBusy, b.Shutdown(false))
	require.NoError(t, b.DeviceClose(handle, false))
	require.NoError(t, b.Shutdown(false))
	requireCode(t, device.CodeNotInitialized, b.Shutdown(false))

	require.NoError(t, b.Init(&library.Settings{HostDevices: 3}), "a new start may have other settings")
	_, err = b.DeviceGetInfo(handle)
	requireCode(t, device.CodeInvalidHandle, err)
	require.NotEqual(t, handle, b.open("test:0"), "a handle is never given out twice")
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
		require.ErrorContains(t, err, fmt.Sprintf("FERRUM_DEBUG=%q: %q is none of red_zones, poison, quarantine, call_sites, all",
			value, word))
	}
	b.env["FERRUM_DEBUG"] = ""
	require.NoError(t, b.Init(nil))
	require.NoError(t, b.Shutdown(false))
}

func TestEveryCallNeedsAStart(t *testing.T) {
	b := newBench(t)
	first := func(_ any, err error) error { return err }
	calls := map[string]error{
		"BackendsJSON":            first(b.BackendsJSON()),
		"DeviceOpen":              first(b.DeviceOpen("test:0")),
		"DeviceClose":             b.DeviceClose(1, false),
		"DeviceGetInfo":           first(b.DeviceGetInfo(1)),
		"DeviceSynchronize":       b.DeviceSynchronize(1, 0),
		"DeviceSetLimit":          b.DeviceSetLimit(1, 0),
		"DeviceMeasureBandwidth":  first(b.DeviceMeasureBandwidth(1)),
		"DeviceGetMemoryInfo":     first(b.DeviceGetMemoryInfo(1)),
		"DeviceGetStatistics":     first(b.DeviceGetStatistics(1)),
		"SnapshotJSON":            first(b.SnapshotJSON()),
		"StreamCreate":            first(b.StreamCreate(1)),
		"StreamDestroy":           b.StreamDestroy(1, false),
		"StreamDefault":           first(b.StreamDefault(1)),
		"StreamSynchronize":       b.StreamSynchronize(1, 0),
		"StreamIsReady":           first(b.StreamIsReady(1)),
		"StreamHostFunction":      b.StreamHostFunction(1, func() {}),
		"StreamWaitEvent":         b.StreamWaitEvent(1, 1),
		"EventRecord":             first(b.EventRecord(1)),
		"EventDestroy":            b.EventDestroy(1),
		"EventIsReady":            first(b.EventIsReady(1)),
		"EventSynchronize":        b.EventSynchronize(1, 0),
		"EventElapsed":            first(b.EventElapsed(1, 1)),
		"PoolCreate":              first(b.PoolCreate(1, nil)),
		"PoolDestroy":             b.PoolDestroy(1, false),
		"PoolAlloc":               first(b.PoolAlloc(1, 1, 0)),
		"PoolFree":                b.PoolFree(1, 1, 0),
		"PoolTrim":                first(b.PoolTrim(1, 0)),
		"PoolSetLimit":            b.PoolSetLimit(1, 0),
		"PoolGetStatistics":       first(b.PoolGetStatistics(1)),
		"PoolAllocWith":           first(b.PoolAllocWith(1, library.PoolRequest{Request: pool.Request{SizeBytes: 1}})),
		"PoolAllocBatch":          b.PoolAllocBatch(1, 1, 0, make([]device.Addr, 1)),
		"PoolGetTag":              first(b.PoolGetTag(1, "kv")),
		"PoolFreeSized":           b.PoolFreeSized(1, 1, 1, 0),
		"PoolFreeBatch":           b.PoolFreeBatch(1, make([]device.Addr, 1), 0),
		"PoolRecordStream":        b.PoolRecordStream(1, 1, 0),
		"PoolUsableSize":          first(b.PoolUsableSize(1, 1)),
		"PoolReset":               b.PoolReset(1, 0),
		"PoolCheck":               b.PoolCheck(1),
		"PoolSetMinHeld":          b.PoolSetMinHeld(1, 0),
		"PoolSetReleaseThreshold": b.PoolSetReleaseThreshold(1, 0),
		"DeviceGetOwner":          first(b.DeviceGetOwner(1, 1)),
		"ManagerCreate":           first(b.ManagerCreate(1, nil)),
		"ManagerDestroy":          b.ManagerDestroy(1, false),
		"ManagerConfigurePool":    b.ManagerConfigurePool(1, manager.General, nil),
		"ManagerGetStatistics":    first(b.ManagerGetStatistics(1)),
		"ManagerAlloc":            first(b.ManagerAlloc(1, 1)),
		"ManagerAllocWith":        first(b.ManagerAllocWith(1, manager.Request{})),
		"MemoryFree":              b.MemoryFree(1),
		"MemoryGetHandleInfo":     first(b.MemoryGetHandleInfo(1)),
		"MemoryCopy":              b.MemoryCopy(manager.Transfer{}),
		"MemoryCopyAsync":         b.MemoryCopyAsync(manager.Transfer{}, 0),
		"MemoryWrite":             b.MemoryWrite(1, 0, 0, 1),
		"MemoryRead":              b.MemoryRead(1, 0, 0, 1),
		"MemoryFillAsync":         b.MemoryFillAsync(manager.Fill{}, 0),
		"ManagerDefragment":       first(b.ManagerDefragment(1)),
		"ManagerDefragmentWithin": first(b.ManagerDefragmentWithin(1, 0)),
		"MemoryPin":               first(b.MemoryPin(1)),
		"MemoryUnpin":             b.MemoryUnpin(1),
		"PressureCallbackAdd":     first(b.PressureCallbackAdd(1, 0, func(uint64, int32) {})),
		"RegistrationRemove":      b.RegistrationRemove(1, 0),
	}
	for name, err := range calls {
		require.Equal(t, device.CodeNotInitialized, device.CodeOf(err), "%s: %v", name, err)
	}
}

func TestForcedShutdownFreesEverythingAndKeepsTheReport(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.Init(nil))
	p, m, stream := b.fill("test:0")
	// A stream that is at work is waited for.
	b.fill("test:1")
	ran := false
	require.NoError(t, b.StreamHostFunction(stream, func() { ran = true }))

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
	_, err = b.ManagerAlloc(m, 1)
	requireCode(t, device.CodeInvalidHandle, err)
	requireCode(t, device.CodeInvalidHandle, b.StreamSynchronize(stream, 0))
	require.NoError(t, b.Shutdown(false))
	require.Empty(t, b.leaks().Leaks, "a clean stop leaves a clean report")
}

// fill makes one of everything on a device, with a pool block of 1000 bytes and
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
	_, err = b.ManagerAllocWith(m, manager.Request{SizeBytes: 2000, Tag: "weights"})
	require.NoError(b.t, err)
	stream, err = b.StreamCreate(dev)
	require.NoError(b.t, err)
	_, err = b.EventRecord(stream)
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
			require.NoError(t, b.DeviceClose(b.leaks().Leaks[0].Handle, false))
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
	require.NoError(t, b.StreamHostFunction(def, func() {
		inside.Store(true)
		_, openErr := b.DeviceOpen("test:1")
		got <- answer{fromHostFunction: b.Init(nil), open: openErr}
		inside.Store(false)
	}))
	stopped := device.Go("shutdown", func() {
		close(running)
		if err := b.Shutdown(true); err != nil {
			panic(err)
		}
	})
	<-running
	for {
		_, err := b.StreamIsReady(stream)
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
