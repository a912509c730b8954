package library_test

import (
	"encoding/json"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
	"ferrum_mem/core/library"
	"ferrum_mem/core/pressure"
)

const mib = 1 << 20

// fallen is a library with three host devices: the first is the host, the second
// plays the GPU.
type fallen struct {
	*library.Library
	t         *testing.T
	host, gpu uint64
}

func startFallen(t *testing.T) *fallen {
	t.Setenv("FERRUM_HOST_DEVICES", "3")
	t.Setenv("FERRUM_HOST_MEMORY", "")
	f := &fallen{Library: onHost(), t: t}
	require.NoError(t, f.Init(&library.Settings{HostMemoryBytes: 48 * mib}))
	t.Cleanup(func() {
		for f.Shutdown(true) == nil {
		}
	})
	f.host, f.gpu = f.open("cpu:0"), f.open("cpu:1")
	return f
}

func (f *fallen) open(id string) uint64 {
	handle, err := f.DeviceOpen(id)
	require.NoError(f.t, err)
	return handle
}

// memory is settings that keep nothing free.
func memory() fallback.MemoryConfig {
	return fallback.DefaultMemoryConfig().WithGPUMemoryFraction(1).WithMinFreeBytes(0).WithTracking(true)
}

func (f *fallen) manager(c fallback.MemoryConfig) uint64 {
	handle, err := f.FallbackManagerCreate(f.gpu, f.host, c)
	require.NoError(f.t, err)
	return handle
}

func (f *fallen) buffer(manager, bytes uint64) uint64 {
	handle, err := f.FallbackManagerAlloc(manager, library.BufferRequest{
		Request: fallback.Request{Shape: fallback.Shape{DType: fallback.U8, Len: bytes}, Tag: "kv"},
	})
	require.NoError(f.t, err)
	return handle
}

func TestFallbackManagerOverTheHostBackend(t *testing.T) {
	f := startFallen(t)
	m := f.manager(memory())
	name, err := f.FallbackManagerGetBackendName(m)
	require.NoError(t, err)
	require.Equal(t, "cpu", name)
	total, free, err := f.FallbackManagerGetMemory(m)
	require.NoError(t, err)
	require.EqualValues(t, 16*mib, total)
	require.EqualValues(t, 16*mib, free)
	level, err := f.FallbackManagerGetPressure(m)
	require.NoError(t, err)
	require.Equal(t, pressure.Low, level)

	big, small := f.buffer(m, 12*mib), f.buffer(m, 8*mib)
	info, err := f.FallbackBufferGetInfo(small)
	require.NoError(t, err)
	require.Equal(t, fallback.CPU, info.Side)
	require.Equal(t, f.host, info.Device)
	require.Equal(t, m, info.Manager)
	_, err = f.FallbackBufferGetAddress(small, fallback.GPU)
	requireCode(t, device.CodeInvalidState, err)
	_, err = f.FallbackBufferGetAddress(small, 9)
	requireCode(t, device.CodeInvalidArgument, err)
	at, err := f.FallbackBufferGetAddress(small, fallback.CPU)
	require.NoError(t, err)
	require.Equal(t, info.Addr, at)

	words := []byte("written before it moves")
	const offset = 5 * mib
	size := uint64(len(words))
	host := func(b []byte) device.HostAddr { return device.HostAddr(reflect.ValueOf(b).Pointer()) }
	require.NoError(t, f.FallbackBufferWrite(small, offset, host(words), size))
	requireCode(t, device.CodeOutOfMemory, f.FallbackBufferMove(small, fallback.GPU))
	requireCode(t, device.CodeInvalidArgument, f.FallbackBufferMove(small, 2))
	require.NoError(t, f.FallbackBufferFree(big, 0))
	requireCode(t, device.CodeInvalidHandle, f.FallbackBufferFree(big, 0))
	moved, err := f.FallbackManagerReturnBuffers(m)
	require.NoError(t, err)
	require.EqualValues(t, 1, moved)
	got := make([]byte, len(words))
	require.NoError(t, f.FallbackBufferRead(small, offset, host(got), size))
	require.Equal(t, words, got)

	_, _, err = f.FallbackBufferPin(small)
	require.NoError(t, err)
	requireCode(t, device.CodeBusy, f.FallbackBufferMove(small, fallback.CPU))
	requireCode(t, device.CodeBusy, f.FallbackBufferFree(small, 0))
	require.NoError(t, f.FallbackBufferUnpin(small))
	requireCode(t, device.CodeInvalidState, f.FallbackBufferUnpin(small))
	addr, err := f.FallbackBufferTake(small, fallback.GPU)
	require.NoError(t, err)
	_, err = f.FallbackBufferGetInfo(small)
	requireCode(t, device.CodeInvalidHandle, err)
	requireCode(t, device.CodeBusy, f.FallbackManagerDestroy(m, false))
	again, err := f.FallbackManagerAdopt(m, fallback.GPU, addr, library.BufferRequest{
		Request: fallback.Request{Shape: fallback.Shape{DType: fallback.U8, Len: 8 * mib}},
	})
	require.NoError(t, err)
	require.NoError(t, f.FallbackBufferRead(again, offset, host(got), size))
	require.Equal(t, words, got)
	_, err = f.FallbackBufferTake(again, fallback.GPU)
	require.NoError(t, err)
	require.NoError(t, f.FallbackManagerRelease(m, fallback.GPU, addr, 0))
	require.NoError(t, f.FallbackManagerClearPool(m))
	released, err := f.FallbackManagerShrink(m)
	require.NoError(t, err)
	require.NotZero(t, released)
	require.NoError(t, f.FallbackManagerDestroy(m, false))
	requireCode(t, device.CodeInvalidHandle, f.FallbackManagerDestroy(m, false))
	for _, id := range []uint64{f.gpu, f.host} {
		require.NoError(t, f.DeviceClose(id, false))
	}
	require.NoError(t, f.Shutdown(false))
}

func TestFallbackManagersAreInTheBooks(t *testing.T) {
	f := startFallen(t)
	m := f.manager(memory())
	onGPU, onCPU := f.buffer(m, 12*mib), f.buffer(m, 8*mib)
	requireCode(t, device.CodeBusy, f.Shutdown(false))
	for id, buffer := range map[uint64]uint64{f.gpu: onGPU, f.host: onCPU} {
		err := f.DeviceClose(id, false)
		requireCode(t, device.CodeBusy, err)
		require.ErrorContains(t, err, "1 fallback manager, 2 buffers")
		info, err := f.FallbackBufferGetInfo(buffer)
		require.NoError(t, err)
		owner, err := f.DeviceGetOwner(id, info.Addr)
		require.NoError(t, err)
		require.Equal(t, info.SizeBytes, owner.SizeBytes)
	}
	var report leaks
	require.NoError(t, json.Unmarshal(f.LeakReportJSON(), &report))
	require.Equal(t, 2, report.kinds()["buffer"])
	require.Equal(t, 1, report.kinds()["fallback_manager"])
	require.EqualValues(t, 20*mib, report.TotalBytes)
	for _, found := range report.Leaks {
		if found.Kind == "buffer" {
			require.Equal(t, "kv", found.Tag)
			require.NotZero(t, found.Address)
		}
	}
	text, err := f.SnapshotJSON()
	require.NoError(t, err)
	var s struct {
		Devices []struct {
			ID       string
			Managers []fallback.Stats `json:"fallback_managers"`
			Pools    []struct{ Owner string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &s))
	require.Len(t, s.Devices, 2)
	require.Empty(t, s.Devices[0].Managers)
	require.Len(t, s.Devices[1].Managers, 1)
	require.EqualValues(t, 8*mib, s.Devices[1].Managers[0].CPUBytes)
	for _, d := range s.Devices {
		require.Equal(t, "fallback_manager", d.Pools[0].Owner)
	}

	// The host goes by force, and what was on it with it.
	tracker, err := f.FallbackManagerGetTracker(m)
	require.NoError(t, err)
	require.NoError(t, f.DeviceClose(f.host, true))
	_, err = f.FallbackBufferGetInfo(onGPU)
	requireCode(t, device.CodeInvalidHandle, err)
	_, err = f.FallbackManagerGetStats(m)
	requireCode(t, device.CodeInvalidHandle, err)
	_, err = f.TrackerGetTotals(tracker)
	requireCode(t, device.CodeInvalidHandle, err)
	require.NoError(t, f.DeviceClose(f.gpu, false))
}

func TestFallbackManagerRefuses(t *testing.T) {
	f := startFallen(t)
	for want, of := range map[device.Code]struct{ device, host uint64 }{
		device.CodeInvalidHandle:   {1, f.host},
		device.CodeInvalidConfig:   {f.gpu, 0},
		device.CodeInvalidArgument: {f.gpu, f.gpu},
	} {
		_, err := f.FallbackManagerCreate(of.device, of.host, memory())
		requireCode(t, want, err)
	}
	_, err := f.FallbackManagerCreate(f.gpu, 77, memory().WithCPUFallback(false))
	requireCode(t, device.CodeInvalidHandle, err)
	plain := f.manager(memory().WithTracking(false))
	_, err = f.FallbackManagerGetTracker(plain)
	requireCode(t, device.CodeInvalidState, err)
	_, err = f.FallbackManagerAlloc(plain, library.BufferRequest{Request: fallback.Request{Shape: fallback.Shape{Len: 1}}, StreamHandle: 12345})
	requireCode(t, device.CodeInvalidHandle, err)
	_, err = f.FallbackManagerOnPressure(plain, 1, nil)
	requireCode(t, device.CodeNullPointer, err)
	require.NoError(t, f.FallbackManagerDestroy(plain, false))
}

// Buffers are made while their manager is destroyed by force: nothing is left, and
// what is gone is a dead handle.
func TestFallbackManagerIsDestroyedUnderThreads(t *testing.T) {
	f := startFallen(t)
	for range 5 {
		m := f.manager(memory())
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for {
					b, err := f.FallbackManagerAlloc(m, library.BufferRequest{Request: fallback.Request{Shape: fallback.Shape{Len: 1000}}})
					if err != nil {
						if code := device.CodeOf(err); code != device.CodeInvalidHandle {
							t.Errorf("allocate: %v", err)
						}
						return
					}
					if err := f.FallbackBufferFree(b, 0); err != nil {
						if code := device.CodeOf(err); code != device.CodeInvalidHandle {
							t.Errorf("free: %v", err)
						}
						return
					}
				}
			})
		}
		require.NoError(t, f.FallbackManagerDestroy(m, true))
		all.Wait()
	}
	require.NoError(t, f.DeviceClose(f.gpu, false))
	require.NoError(t, f.DeviceClose(f.host, false))
	require.NoError(t, f.Shutdown(false))
}

func TestPressureOfAFallbackManagerIsHeard(t *testing.T) {
	f := startFallen(t)
	m := f.manager(memory())
	heard := make(chan int32, 8)
	registration, err := f.FallbackManagerOnPressure(m, 7, func(dev uint64, level int32) {
		if dev == f.gpu {
			heard <- level
		}
	})
	require.NoError(t, err)
	b := f.buffer(m, 10*mib)
	require.EqualValues(t, pressure.Medium, <-heard, "60 % by the profile of these pools")
	require.NoError(t, f.FallbackBufferFree(b, 0))
	_, err = f.FallbackManagerShrink(m)
	require.NoError(t, err)
	require.EqualValues(t, pressure.Low, <-heard)
	require.NoError(t, f.RegistrationRemove(registration, 0))
	require.NoError(t, f.FallbackManagerDestroy(m, false))
}

func TestTrackersOfTheLibrary(t *testing.T) {
	f := startFallen(t)
	tracker, err := f.TrackerCreate()
	require.NoError(t, err)
	requireCode(t, device.CodeInvalidArgument, f.TrackerTrack(tracker, library.BufferRecord{}))
	requireCode(t, device.CodeInvalidArgument, f.TrackerTrack(tracker, library.BufferRecord{ID: 1, Side: 3}))
	requireCode(t, device.CodeInvalidHandle, f.TrackerTrack(tracker, library.BufferRecord{ID: 1, Device: 3}))
	old := library.BufferRecord{ID: 7, SizeBytes: 100, Age: time.Hour, Device: f.gpu, Tag: "old"}
	require.NoError(t, f.TrackerTrack(tracker, old))
	require.NoError(t, f.TrackerTrack(tracker, library.BufferRecord{ID: 3, SizeBytes: 11, Side: fallback.CPU}))
	all, err := f.TrackerGetAll(tracker)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.GreaterOrEqual(t, all[0].Age, time.Hour)
	require.Equal(t, f.gpu, all[0].Device)
	found, err := f.TrackerFindOld(tracker, 30*time.Minute)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "old", found[0].Tag)
	totals, err := f.TrackerGetTotals(tracker)
	require.NoError(t, err)
	require.Equal(t, library.TrackerTotals{Count: 2, TotalBytes: 111, PeakBytes: 111}, totals)
	gone, err := f.TrackerUntrack(tracker, 7)
	require.NoError(t, err)
	require.EqualValues(t, 100, gone.SizeBytes)
	_, err = f.TrackerUntrack(tracker, 7)
	requireCode(t, device.CodeNotFound, err)
	_, err = f.TrackerGet(tracker, 7)
	requireCode(t, device.CodeNotFound, err)
	require.NoError(t, f.TrackerClear(tracker))

	// That of a manager is only read, and goes with it.
	m := f.manager(memory())
	owned, err := f.FallbackManagerGetTracker(m)
	require.NoError(t, err)
	b := f.buffer(m, 100)
	info, err := f.FallbackBufferGetInfo(b)
	require.NoError(t, err)
	record, err := f.TrackerGet(owned, info.ID)
	require.NoError(t, err)
	require.Equal(t, "kv", record.Tag)
	require.Equal(t, f.gpu, record.Device)
	for _, err := range []error{
		f.TrackerDestroy(owned), f.TrackerClear(owned), f.TrackerTrack(owned, library.BufferRecord{ID: 1}),
	} {
		requireCode(t, device.CodeInvalidState, err)
	}
	_, err = f.TrackerUntrack(owned, info.ID)
	requireCode(t, device.CodeInvalidState, err)
	require.NoError(t, f.FallbackManagerDestroy(m, true))
	_, err = f.TrackerGetAll(owned)
	requireCode(t, device.CodeInvalidHandle, err)

	require.NoError(t, f.DeviceClose(f.gpu, false))
	require.NoError(t, f.DeviceClose(f.host, false))
	err = f.Shutdown(false)
	requireCode(t, device.CodeBusy, err)
	require.ErrorContains(t, err, "1 tracker")
	require.NoError(t, f.TrackerDestroy(tracker))
	requireCode(t, device.CodeInvalidHandle, f.TrackerDestroy(tracker))
	require.NoError(t, f.Shutdown(false))
}

func TestGenericPoolsOfTheLibrary(t *testing.T) {
	f := startFallen(t)
	_, err := f.GenericPoolCreate(fallback.MemoryConfig{})
	requireCode(t, device.CodeInvalidConfig, err)
	p, err := f.GenericPoolCreate(memory().WithMaxPooled(1))
	require.NoError(t, err)
	first, err := f.GenericPoolRecordAllocation(p, 1000, fallback.Use{Tag: "a"})
	require.NoError(t, err)
	second, err := f.GenericPoolRecordAllocation(p, 900, fallback.Use{})
	require.NoError(t, err)
	requireCode(t, device.CodeBusy, f.GenericPoolDestroy(p, false))
	kept, err := f.GenericPoolReturn(p, library.Lease{Buffer: 1, Bytes: 1000, ID: first})
	require.NoError(t, err)
	require.True(t, kept)
	kept, err = f.GenericPoolReturn(p, library.Lease{Buffer: 2, Bytes: 900, ID: second})
	require.NoError(t, err)
	require.False(t, kept, "the bucket is full: the buffer is the caller's to end")
	lease, found, err := f.GenericPoolTryGet(p, 1001, fallback.Use{})
	require.NoError(t, err)
	require.False(t, found)
	require.Zero(t, lease)
	lease, found, err = f.GenericPoolTryGet(p, 500, fallback.Use{})
	require.NoError(t, err)
	require.True(t, found)
	require.EqualValues(t, 1, lease.Buffer)
	require.EqualValues(t, 1000, lease.Bytes)
	tracker, err := f.GenericPoolGetTracker(p)
	require.NoError(t, err)
	_, err = f.TrackerGet(tracker, lease.ID)
	require.NoError(t, err)
	_, err = f.GenericPoolReturn(p, lease)
	require.NoError(t, err)
	requireCode(t, device.CodeResourceExhausted, f.GenericPoolAddFree(p, 3, 1024))
	require.NoError(t, f.GenericPoolAddFree(p, 4, 5000))
	require.NoError(t, f.GenericPoolRecordCPUFallback(p))
	count, err := f.GenericPoolGetPooledCount(p)
	require.NoError(t, err)
	require.EqualValues(t, 2, count)
	requireCode(t, device.CodeBusy, f.GenericPoolDestroy(p, false))
	some, _, err := f.GenericPoolDrain(p, 1)
	require.NoError(t, err)
	rest, count, err := f.GenericPoolDrain(p, 100)
	require.NoError(t, err)
	require.EqualValues(t, 1, count)
	require.ElementsMatch(t, []library.Lease{{Buffer: 1, Bytes: 1000}, {Buffer: 4, Bytes: 5000}}, append(some, rest...))
	stats, err := f.GenericPoolGetStats(p)
	require.NoError(t, err)
	require.Equal(t, fallback.MemoryStats{PeakBytes: 1900, PoolHits: 1, PoolMisses: 1, CPUFallbacks: 1}, stats)
	require.NoError(t, f.GenericPoolDestroy(p, false))
	_, err = f.GenericPoolGetStats(p)
	requireCode(t, device.CodeInvalidHandle, err)
	_, err = f.TrackerGetAll(tracker)
	requireCode(t, device.CodeInvalidHandle, err)

	// A forced stop takes what is left.
	left, err := f.GenericPoolCreate(memory())
	require.NoError(t, err)
	_, err = f.TrackerCreate()
	require.NoError(t, err)
	require.NoError(t, f.Shutdown(true))
	var report leaks
	require.NoError(t, json.Unmarshal(f.LeakReportJSON(), &report))
	require.Equal(t, 1, report.kinds()["generic_pool"])
	require.Equal(t, 1, report.kinds()["tracker"])
	_, err = f.GenericPoolGetStats(left)
	requireCode(t, device.CodeNotInitialized, err)
}

// Whoever comes between the end of a buffer and that of its handle hears of the handle.
func TestABufferThatEndsIsAnInvalidHandle(t *testing.T) {
	f := startFallen(t)
	m := f.manager(memory())
	for range 300 {
		buffer := f.buffer(m, 64)
		ended := make(chan error)
		go func() { ended <- f.FallbackBufferFree(buffer, 0) }()
		for {
			err := f.FallbackBufferMove(buffer, fallback.GPU)
			if device.CodeOf(err) == device.CodeInvalidHandle {
				break
			}
			if err != nil {
				requireCode(t, device.CodeBusy, err)
			}
		}
		require.NoError(t, <-ended)
	}
	require.NoError(t, f.FallbackManagerDestroy(m, false))
}
