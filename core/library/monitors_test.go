package library_test

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pressure"
)

func (b *bench) monitor() uint64 {
	handle, err := b.MonitorCreate(library.MonitorConfig{Interval: -1})
	require.NoError(b.t, err)
	return handle
}

// others makes other processes use that many percent of a device, and makes the library
// notice it.
func (b *bench) others(index int, handle uint64, percent uint64) {
	b.device(index).SetOthersBytes(capacity / 100 * percent)
	require.NoError(b.t, at(b.Device, handle).SetLimit(0))
}

func TestAMonitorTellsTheLevelsOfItsDevices(t *testing.T) {
	b := startBench(t)
	here, there := b.open("test:0"), b.open("test:1")
	first, second := b.manager(here), b.manager(there)
	m := b.monitor()
	require.NoError(t, at(b.Monitor, m).Register(first))
	requireCode(t, device.CodeAlreadyExists, at(b.Monitor, m).Register(first))
	require.NoError(t, at(b.Monitor, m).Register(second))
	heard := make(chan []library.DeviceLevel, 8)
	require.NoError(t, at(b.Monitor, m).SetCallback(nil, func(levels []library.DeviceLevel) { heard <- levels }))
	b.others(1, there, 96)
	want := []library.DeviceLevel{{Device: here, Level: pressure.Low}, {Device: there, Level: pressure.Critical}}
	require.Equal(t, want, <-heard)
	levels := at(b.Monitor, m).Levels(0)
	require.Equal(t, want, levels)
	summary := at(b.Monitor, m).Pressure(0)
	require.Equal(t, pressure.Critical, summary.Level)
	require.Equal(t, 2, summary.Devices)
	_, count, err := at(b.Monitor, m).Collect(1)
	requireCode(t, device.CodeBufferTooSmall, err)
	require.EqualValues(t, 2, count)
	require.NoError(t, at(b.Monitor, m).Unregister(first))
	require.Equal(t, want[1:], <-heard)
	requireCode(t, device.CodeNotFound, at(b.Monitor, m).Unregister(first))
	require.NoError(t, at(b.Monitor, m).UnregisterDevice(there))
	require.Empty(t, <-heard)
	require.NoError(t, at(b.Monitor, m).Destroy(nil))
	requireCode(t, device.CodeInvalidHandle, do(b.Monitor, m, func(o *library.Monitor) error { return o.Destroy(nil) }))
}

// A registration is weak: the close of the manager or its device does not wait for the
// monitor.
func TestMonitorDoesNotKeepManagersOpen(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	first := b.manager(dev)
	m := b.monitor()
	require.NoError(t, at(b.Monitor, m).Register(first))
	require.NoError(t, at(b.Monitor, m).SetCallback(nil, func([]library.DeviceLevel) {}))
	require.NoError(t, at(b.Manager, first).Destroy(false))
	levels := at(b.Monitor, m).Levels(0)
	require.Empty(t, levels)
	require.NoError(t, at(b.Device, dev).Close(false))

	dev = b.open("test:0")
	require.NoError(t, at(b.Monitor, m).Register(b.manager(dev)))
	require.NoError(t, at(b.Device, dev).Close(true))
	summary := at(b.Monitor, m).Pressure(0)
	require.Zero(t, summary.Devices)
	requireCode(t, device.CodeBusy, b.Shutdown(false))
	require.Equal(t, map[string]int{"monitor": 1}, b.leaks().kinds())
	require.NoError(t, b.Shutdown(true))
	require.NoError(t, b.Init(nil))
	err := do(b.Monitor, m, func(o *library.Monitor) error { o.Levels(0); return nil })
	requireCode(t, device.CodeInvalidHandle, err)
}

func TestMonitorCallbackEndsItsMonitor(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	m := b.monitor()
	require.NoError(t, at(b.Monitor, m).Register(b.manager(dev)))
	done := make(chan error, 1)
	require.NoError(t, at(b.Monitor, m).SetCallback(nil, func([]library.DeviceLevel) { done <- at(b.Monitor, m).Destroy([]uint64{m}) }))
	b.others(0, dev, 99)
	require.NoError(t, <-done)
}

func TestAMonitorCollectsItsManagers(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	mine := b.manager(dev)
	m := b.monitor()
	require.NoError(t, at(b.Monitor, m).Register(mine))
	h, err := at(b.Manager, mine).Alloc(1000)
	require.NoError(t, err)
	require.NoError(t, made(b).Free(manager.MemoryHandle(h)))
	done, _, err := at(b.Monitor, m).Collect(8)
	require.NoError(t, err)
	require.Len(t, done, 1)
	require.Equal(t, dev, done[0].Device)
	require.NoError(t, done[0].Err)
	require.Positive(t, done[0].Stats.MemoryFreedBytes)
}

func TestMonitorJSON(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	m := b.monitor()
	require.NoError(t, at(b.Monitor, m).Register(b.manager(dev)))
	b.device(0).FailNth(devicetest.Memory, 1, nil)
	text, err := at(b.Monitor, m).InfoJSON(0)
	require.NoError(t, err)
	var failed struct {
		Devices []struct {
			Memory any
			Error  struct{ Status, Message string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &failed))
	require.Equal(t, "FERRUM_ERROR_DEVICE", failed.Devices[0].Error.Status)
	require.Nil(t, failed.Devices[0].Memory)
	text, err = at(b.Monitor, m).InfoJSON(0)
	require.NoError(t, err)
	object := decode(t, text)
	require.ElementsMatch(t, []string{"profile", "pressure", "devices"}, keysOf(object))
	require.Equal(t, "standard", object["profile"])
	first := object["devices"].([]any)[0].(map[string]any)
	require.ElementsMatch(t, []string{
		"id", "managers", "level", "level_by_bytes", "level_by_system", "memory", "error", "system",
	}, keysOf(first))
	require.Equal(t, "low", first["level"])
	require.Nil(t, first["error"])
	require.Nil(t, first["system"], "the test device has no system under it")
	require.EqualValues(t, capacity, first["memory"].(map[string]any)["total_bytes"])
}

// Three host devices on one system, whose own pressure is available or has reasons.
func TestMonitorOfThreeHostDevices(t *testing.T) {
	l := startHost(t, map[string]string{"FERRUM_HOST_DEVICES": "3", "FERRUM_HOST_MEMORY": "96MiB"})
	m, err := l.MonitorCreate(library.MonitorConfig{Profile: pressure.Early})
	require.NoError(t, err)
	for _, id := range []string{"cpu:0", "cpu:1", "cpu:2"} {
		dev, err := l.DeviceOpen(id)
		require.NoError(t, err)
		handle, err := l.ManagerCreate(dev, nil)
		require.NoError(t, err)
		require.NoError(t, at(l.Monitor, m).Register(handle))
	}
	text, err := at(l.Monitor, m).InfoJSON(0)
	require.NoError(t, err)
	devices := decode(t, text)["devices"].([]any)
	require.Len(t, devices, 3)
	for _, found := range devices {
		system := found.(map[string]any)["system"].(map[string]any)
		require.ElementsMatch(t, []string{"machine", "group", "events", "high"}, keysOf(system))
		machine := system["machine"].(map[string]any)
		require.True(t, (machine["some"] == nil) == (machine["reason"] != nil))
	}
	summary := at(l.Monitor, m).Pressure(time.Hour)
	require.Equal(t, 3, summary.Devices)
	require.EqualValues(t, 96<<20, summary.TotalBytes)
}

func TestMonitorRefusesBadArguments(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	m, mine := b.monitor(), b.manager(dev)
	_, err := b.MonitorCreate(library.MonitorConfig{Profile: 2})
	requireCode(t, device.CodeInvalidArgument, err)
	requireCode(t, device.CodeInvalidHandle, do(b.Monitor, mine, func(o *library.Monitor) error { return o.Register(mine) }))
	requireCode(t, device.CodeInvalidHandle, do(b.Monitor, m, func(o *library.Monitor) error { return o.Register(dev) }))
	requireCode(t, device.CodeInvalidHandle, do(b.Monitor, m, func(o *library.Monitor) error { return o.Unregister(0) }))
	requireCode(t, device.CodeInvalidHandle, do(b.Monitor, m, func(o *library.Monitor) error { return o.UnregisterDevice(mine) }))
	requireCode(t, device.CodeInvalidHandle, do(b.Monitor, 0, func(o *library.Monitor) error { return o.SetCallback(nil, nil) }))
	err = do(b.Monitor, dev, func(o *library.Monitor) error {
		_, _, err := o.Collect(8)
		return err
	})
	requireCode(t, device.CodeInvalidHandle, err)
	require.NoError(t, at(b.Monitor, m).SetCallback(nil, nil), "there is none to remove")
}

func TestThreadsMayRegisterAndDestroyBesideAMonitor(t *testing.T) {
	b := startBench(t)
	devices := []uint64{b.open("test:0"), b.open("test:1")}
	m := b.monitor()
	var wait sync.WaitGroup
	for n := range 16 {
		wait.Go(func() {
			for step := range 20 {
				mine := b.manager(devices[n%2])
				codes := []device.Code{
					device.CodeOf(at(b.Monitor, m).Register(mine)), device.CodeOf(at(b.Monitor, m).Unregister(mine)),
					device.CodeOf(at(b.Monitor, m).Register(mine)), device.CodeOf(at(b.Manager, mine).Destroy(true)),
				}
				if !slices.Equal(codes, make([]device.Code, 4)) {
					panic(codes)
				}
				if err := do(b.Monitor, m, func(o *library.Monitor) error { o.Pressure(time.Duration(step%2) * time.Hour); return nil }); err != nil {
					panic(err)
				}
				if err := at(b.Monitor, m).SetCallback(nil, func([]library.DeviceLevel) {}); err != nil {
					panic(err)
				}
			}
		})
	}
	wait.Wait()
	summary := at(b.Monitor, m).Pressure(0)
	require.Zero(t, summary.Devices)
}

// startHost starts a library on the host backend in that environment.
func startHost(t *testing.T, env map[string]string) *library.Library {
	for name, value := range env {
		t.Setenv(name, value)
	}
	l := onHost()
	require.NoError(t, l.Init(nil))
	t.Cleanup(func() { require.NoError(t, l.Shutdown(true)) })
	return l
}
