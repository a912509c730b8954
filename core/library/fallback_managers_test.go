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

// fallen is a library with three host devices: the first is the host, the second has
// the role of the GPU.
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

// memory returns settings that reserve no free memory.
func memory() fallback.MemoryConfig {
	return fallback.DefaultMemoryConfig().WithGPUMemoryFraction(1).WithMinFreeBytes(0).WithTracking(true)
}

func (f *fallen) manager(c fallback.MemoryConfig) uint64 {
	handle, err := f.FallbackManagerCreate(f.gpu, f.host, c)
	require.NoError(f.t, err)
	return handle
}

func (f *fallen) buffer(manager, bytes uint64) uint64 {
	handle, err := at(f.FallbackManager, manager).Alloc(library.BufferRequest{
		Request: fallback.Request{Shape: fallback.Shape{DType: fallback.U8, Len: bytes}, Tag: "kv"},
	})
	require.NoError(f.t, err)
	return handle
}

func TestFallbackManagerOverTheHostBackend(t *testing.T) {
	f := startFallen(t)
	m := f.manager(memory())
	name := at(f.FallbackManager, m).BackendName()
	require.Equal(t, "cpu", name)
	total, free, err := at(f.FallbackManager, m).Memory()
	require.NoError(t, err)
	require.EqualValues(t, 16*mib, total)
	require.EqualValues(t, 16*mib, free)
	level, err := at(f.FallbackManager, m).Pressure()
	require.NoError(t, err)
	require.Equal(t, pressure.Low, level)

	big, small := f.buffer(m, 12*mib), f.buffer(m, 8*mib)
	info, err := at(f.FallbackBuffer, small).Info()
	require.NoError(t, err)
	require.Equal(t, fallback.CPU, info.Side)
	require.Equal(t, f.host, info.Device)
	require.Equal(t, m, info.Manager)
	_, err = at(f.FallbackBuffer, small).Address(fallback.GPU)
	requireCode(t, device.CodeInvalidState, err)
	_, err = at(f.FallbackBuffer, small).Address(9)
	requireCode(t, device.CodeInvalidArgument, err)
	addr, err := at(f.FallbackBuffer, small).Address(fallback.CPU)
	require.NoError(t, err)
	require.Equal(t, info.Addr, addr)

	words := []byte("written before it moves")
	const offset = 5 * mib
	size := uint64(len(words))
	host := func(b []byte) device.HostAddr { return device.HostAddr(reflect.ValueOf(b).Pointer()) }
	require.NoError(t, at(f.FallbackBuffer, small).Write(offset, host(words), size))
	requireCode(t, device.CodeOutOfMemory, at(f.FallbackBuffer, small).Move(fallback.GPU))
	requireCode(t, device.CodeInvalidArgument, at(f.FallbackBuffer, small).Move(2))
	require.NoError(t, at(f.FallbackBuffer, big).Free(0))
	requireCode(t, device.CodeInvalidHandle, do(f.FallbackBuffer, big, func(o *library.FallbackBuffer) error { return o.Free(0) }))
	moved, err := at(f.FallbackManager, m).ReturnBuffers()
	require.NoError(t, err)
	require.EqualValues(t, 1, moved)
	got := make([]byte, len(words))
	require.NoError(t, at(f.FallbackBuffer, small).Read(offset, host(got), size))
	require.Equal(t, words, got)

	_, _, err = at(f.FallbackBuffer, small).PinAddr()
	require.NoError(t, err)
	requireCode(t, device.CodeBusy, at(f.FallbackBuffer, small).Move(fallback.CPU))
	requireCode(t, device.CodeBusy, at(f.FallbackBuffer, small).Free(0))
	require.NoError(t, at(f.FallbackBuffer, small).Unpin())
	requireCode(t, device.CodeInvalidState, at(f.FallbackBuffer, small).Unpin())
	addr, err = at(f.FallbackBuffer, small).Take(fallback.GPU)
	require.NoError(t, err)
	err = do(f.FallbackBuffer, small, func(o *library.FallbackBuffer) error { return second(o.Info()) })
	requireCode(t, device.CodeInvalidHandle, err)
	requireCode(t, device.CodeBusy, at(f.FallbackManager, m).Destroy(false))
	again, err := at(f.FallbackManager, m).Adopt(fallback.GPU, addr, library.BufferRequest{
		Request: fallback.Request{Shape: fallback.Shape{DType: fallback.U8, Len: 8 * mib}},
	})
	require.NoError(t, err)
	require.NoError(t, at(f.FallbackBuffer, again).Read(offset, host(got), size))
	require.Equal(t, words, got)
	_, err = at(f.FallbackBuffer, again).Take(fallback.GPU)
	require.NoError(t, err)
	require.NoError(t, at(f.FallbackManager, m).Release(fallback.GPU, addr, 0))
	require.NoError(t, at(f.FallbackManager, m).ClearPool())
	released, err := at(f.FallbackManager, m).Shrink()
	require.NoError(t, err)
	require.NotZero(t, released)
	require.NoError(t, at(f.FallbackManager, m).Destroy(false))
	requireCode(t, device.CodeInvalidHandle, do(f.FallbackManager, m, func(o *library.FallbackManager) error { return o.Destroy(false) }))
	for _, id := range []uint64{f.gpu, f.host} {
		require.NoError(t, at(f.Device, id).Close(false))
	}
	require.NoError(t, f.Shutdown(false))
}

func TestFallbackManagersAreInTheCounters(t *testing.T) {
	f := startFallen(t)
	m := f.manager(memory())
	onGPU, onCPU := f.buffer(m, 12*mib), f.buffer(m, 8*mib)
	requireCode(t, device.CodeBusy, f.Shutdown(false))
	for id, buffer := range map[uint64]uint64{f.gpu: onGPU, f.host: onCPU} {
		err := at(f.Device, id).Close(false)
		requireCode(t, device.CodeBusy, err)
		require.ErrorContains(t, err, "1 fallback manager, 2 buffers")
		info, err := at(f.FallbackBuffer, buffer).Info()
		require.NoError(t, err)
		owner, err := at(f.Device, id).Owner(info.Addr)
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

	// The host is closed by force, with everything on it.
	tracker, err := at(f.FallbackManager, m).Tracker()
	require.NoError(t, err)
	require.NoError(t, at(f.Device, f.host).Close(true))
	err = do(f.FallbackBuffer, onGPU, func(o *library.FallbackBuffer) error { return second(o.Info()) })
	requireCode(t, device.CodeInvalidHandle, err)
	err = do(f.FallbackManager, m, func(o *library.FallbackManager) error { o.Stats(); return nil })
	requireCode(t, device.CodeInvalidHandle, err)
	err = do(f.Tracker, tracker, func(o *library.Tracker) error { o.Totals(); return nil })
	requireCode(t, device.CodeInvalidHandle, err)
	require.NoError(t, at(f.Device, f.gpu).Close(false))
}

func TestAFallbackManagerRefusesBadArguments(t *testing.T) {
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
	_, err = at(f.FallbackManager, plain).Tracker()
	requireCode(t, device.CodeInvalidState, err)
	err = do(f.FallbackManager, plain, func(o *library.FallbackManager) error {
		return second(o.Alloc(library.BufferRequest{Request: fallback.Request{Shape: fallback.Shape{Len: 1}}, StreamHandle: 12345}))
	})
	requireCode(t, device.CodeInvalidHandle, err)
	_, err = at(f.FallbackManager, plain).PressureCallbackAdd(1, nil)
	requireCode(t, device.CodeNullPointer, err)
	require.NoError(t, at(f.FallbackManager, plain).Destroy(false))
}

// Buffers are allocated while their manager is destroyed by force: nothing is left, and
// ended buffers have invalid handles.
func TestFallbackManagerIsDestroyedUnderThreads(t *testing.T) {
	f := startFallen(t)
	for range 5 {
		m := f.manager(memory())
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for {
					var b uint64
					err := do(f.FallbackManager, m, func(o *library.FallbackManager) (err error) {
						b, err = o.Alloc(library.BufferRequest{Request: fallback.Request{Shape: fallback.Shape{Len: 1000}}})
						return err
					})
					if err != nil {
						if code := device.CodeOf(err); code != device.CodeInvalidHandle {
							t.Errorf("allocate: %v", err)
						}
						return
					}
					if err := end(f.FallbackBuffer, b, func(o *library.FallbackBuffer) error { return o.Free(0) }); err != nil {
						if code := device.CodeOf(err); code != device.CodeInvalidHandle {
							t.Errorf("free: %v", err)
						}
						return
					}
				}
			})
		}
		require.NoError(t, at(f.FallbackManager, m).Destroy(true))
		all.Wait()
	}
	require.NoError(t, at(f.Device, f.gpu).Close(false))
	require.NoError(t, at(f.Device, f.host).Close(false))
	require.NoError(t, f.Shutdown(false))
}

func TestFallbackManagerNotifiesPressure(t *testing.T) {
	f := startFallen(t)
	m := f.manager(memory())
	heard := make(chan int32, 8)
	registration, err := at(f.FallbackManager, m).PressureCallbackAdd(7, func(dev uint64, level int32) {
		if dev == f.gpu {
			heard <- level
		}
	})
	require.NoError(t, err)
	b := f.buffer(m, 10*mib)
	require.EqualValues(t, pressure.Medium, <-heard, "60 % by the profile of these pools")
	require.NoError(t, at(f.FallbackBuffer, b).Free(0))
	_, err = at(f.FallbackManager, m).Shrink()
	require.NoError(t, err)
	require.EqualValues(t, pressure.Low, <-heard)
	require.NoError(t, f.RegistrationRemove(registration, nil))
	require.NoError(t, at(f.FallbackManager, m).Destroy(false))
}

func TestTrackersOfTheLibrary(t *testing.T) {
	f := startFallen(t)
	tracker, err := f.TrackerCreate()
	require.NoError(t, err)
	requireCode(t, device.CodeInvalidArgument, at(f.Tracker, tracker).Track(library.BufferRecord{}))
	requireCode(t, device.CodeInvalidArgument, at(f.Tracker, tracker).Track(library.BufferRecord{ID: 1, Side: 3}))
	requireCode(t, device.CodeInvalidHandle, do(f.Tracker, tracker, func(o *library.Tracker) error { return o.Track(library.BufferRecord{ID: 1, Device: 3}) }))
	old := library.BufferRecord{ID: 7, SizeBytes: 100, Age: time.Hour, Device: f.gpu, Tag: "old"}
	require.NoError(t, at(f.Tracker, tracker).Track(old))
	require.NoError(t, at(f.Tracker, tracker).Track(library.BufferRecord{ID: 3, SizeBytes: 11, Side: fallback.CPU}))
	all := at(f.Tracker, tracker).All()
	require.Len(t, all, 2)
	require.GreaterOrEqual(t, all[0].Age, time.Hour)
	require.Equal(t, f.gpu, all[0].Device)
	found := at(f.Tracker, tracker).FindOld(30 * time.Minute)
	require.Len(t, found, 1)
	require.Equal(t, "old", found[0].Tag)
	totals := at(f.Tracker, tracker).Totals()
	require.Equal(t, library.TrackerTotals{Count: 2, TotalBytes: 111, PeakBytes: 111}, totals)
	gone, err := at(f.Tracker, tracker).Untrack(7)
	require.NoError(t, err)
	require.EqualValues(t, 100, gone.SizeBytes)
	_, err = at(f.Tracker, tracker).Untrack(7)
	requireCode(t, device.CodeNotFound, err)
	_, err = at(f.Tracker, tracker).Get(7)
	requireCode(t, device.CodeNotFound, err)
	require.NoError(t, at(f.Tracker, tracker).Clear())

	// The tracker of a manager can only be read, and ends with the manager.
	m := f.manager(memory())
	owned, err := at(f.FallbackManager, m).Tracker()
	require.NoError(t, err)
	b := f.buffer(m, 100)
	info, err := at(f.FallbackBuffer, b).Info()
	require.NoError(t, err)
	record, err := at(f.Tracker, owned).Get(info.ID)
	require.NoError(t, err)
	require.Equal(t, "kv", record.Tag)
	require.Equal(t, f.gpu, record.Device)
	for _, err := range []error{
		at(f.Tracker, owned).Destroy(), at(f.Tracker, owned).Clear(), at(f.Tracker, owned).Track(library.BufferRecord{ID: 1}),
	} {
		requireCode(t, device.CodeInvalidState, err)
	}
	_, err = at(f.Tracker, owned).Untrack(info.ID)
	requireCode(t, device.CodeInvalidState, err)
	require.NoError(t, at(f.FallbackManager, m).Destroy(true))
	err = do(f.Tracker, owned, func(o *library.Tracker) error { o.All(); return nil })
	requireCode(t, device.CodeInvalidHandle, err)

	require.NoError(t, at(f.Device, f.gpu).Close(false))
	require.NoError(t, at(f.Device, f.host).Close(false))
	err = f.Shutdown(false)
	requireCode(t, device.CodeBusy, err)
	require.ErrorContains(t, err, "1 tracker")
	require.NoError(t, at(f.Tracker, tracker).Destroy())
	requireCode(t, device.CodeInvalidHandle, do(f.Tracker, tracker, func(o *library.Tracker) error { return o.Destroy() }))
	require.NoError(t, f.Shutdown(false))
}

func TestGenericPoolsOfTheLibrary(t *testing.T) {
	f := startFallen(t)
	_, err := f.GenericPoolCreate(fallback.MemoryConfig{})
	requireCode(t, device.CodeInvalidConfig, err)
	p, err := f.GenericPoolCreate(memory().WithMaxPooled(1))
	require.NoError(t, err)
	first, err := at(f.GenericPool, p).RecordAllocation(1000, fallback.Use{Tag: "a"})
	require.NoError(t, err)
	other, err := at(f.GenericPool, p).RecordAllocation(900, fallback.Use{})
	require.NoError(t, err)
	requireCode(t, device.CodeBusy, at(f.GenericPool, p).Destroy(false))
	kept, err := at(f.GenericPool, p).Return(library.Lease{Buffer: 1, Bytes: 1000, ID: first})
	require.NoError(t, err)
	require.True(t, kept)
	kept, err = at(f.GenericPool, p).Return(library.Lease{Buffer: 2, Bytes: 900, ID: other})
	require.NoError(t, err)
	require.False(t, kept, "the bucket is full: the buffer is the caller's to end")
	lease, found, err := at(f.GenericPool, p).TryGet(1001, fallback.Use{})
	require.NoError(t, err)
	require.False(t, found)
	require.Zero(t, lease)
	lease, found, err = at(f.GenericPool, p).TryGet(500, fallback.Use{})
	require.NoError(t, err)
	require.True(t, found)
	require.EqualValues(t, 1, lease.Buffer)
	require.EqualValues(t, 1000, lease.Bytes)
	tracker, err := at(f.GenericPool, p).Tracker()
	require.NoError(t, err)
	_, err = at(f.Tracker, tracker).Get(lease.ID)
	require.NoError(t, err)
	_, err = at(f.GenericPool, p).Return(lease)
	require.NoError(t, err)
	requireCode(t, device.CodeResourceExhausted, at(f.GenericPool, p).AddFree(3, 1024))
	require.NoError(t, at(f.GenericPool, p).AddFree(4, 5000))
	require.NoError(t, at(f.GenericPool, p).RecordCPUFallback())
	count, err := at(f.GenericPool, p).PooledCount()
	require.NoError(t, err)
	require.EqualValues(t, 2, count)
	requireCode(t, device.CodeBusy, at(f.GenericPool, p).Destroy(false))
	some, _, err := at(f.GenericPool, p).Drain(1)
	require.NoError(t, err)
	rest, count, err := at(f.GenericPool, p).Drain(100)
	require.NoError(t, err)
	require.EqualValues(t, 1, count)
	require.ElementsMatch(t, []library.Lease{{Buffer: 1, Bytes: 1000}, {Buffer: 4, Bytes: 5000}}, append(some, rest...))
	stats, err := at(f.GenericPool, p).Stats()
	require.NoError(t, err)
	require.Equal(t, fallback.MemoryStats{PeakBytes: 1900, PoolHits: 1, PoolMisses: 1, CPUFallbacks: 1}, stats)
	require.NoError(t, at(f.GenericPool, p).Destroy(false))
	err = do(f.GenericPool, p, func(o *library.GenericPool) error { return second(o.Stats()) })
	requireCode(t, device.CodeInvalidHandle, err)
	err = do(f.Tracker, tracker, func(o *library.Tracker) error { o.All(); return nil })
	requireCode(t, device.CodeInvalidHandle, err)

	// A forced stop ends what is left.
	left, err := f.GenericPoolCreate(memory())
	require.NoError(t, err)
	_, err = f.TrackerCreate()
	require.NoError(t, err)
	require.NoError(t, f.Shutdown(true))
	var report leaks
	require.NoError(t, json.Unmarshal(f.LeakReportJSON(), &report))
	require.Equal(t, 1, report.kinds()["generic_pool"])
	require.Equal(t, 1, report.kinds()["tracker"])
	err = do(f.GenericPool, left, func(o *library.GenericPool) error { return second(o.Stats()) })
	requireCode(t, device.CodeNotInitialized, err)
}

// A call between the end of a buffer and the removal of its handle returns the error of
// the handle.
func TestABufferThatEndsIsAnInvalidHandle(t *testing.T) {
	f := startFallen(t)
	m := f.manager(memory())
	for range 300 {
		buffer := f.buffer(m, 64)
		ended := make(chan error)
		go func() { ended <- at(f.FallbackBuffer, buffer).Free(0) }()
		for {
			err := do(f.FallbackBuffer, buffer, func(o *library.FallbackBuffer) error { return o.Move(fallback.GPU) })
			if device.CodeOf(err) == device.CodeInvalidHandle {
				break
			}
			if err != nil {
				requireCode(t, device.CodeBusy, err)
			}
		}
		require.NoError(t, <-ended)
	}
	require.NoError(t, at(f.FallbackManager, m).Destroy(false))
}
