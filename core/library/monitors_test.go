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
	"ferrum_mem/core/pressure"
)

func (b *bench) monitor() uint64 {
	handle, err := b.MonitorCreate(library.MonitorConfig{Interval: -1})
	require.NoError(b.t, err)
	return handle
}

// others has others use so many percent of a device, and has it noticed.
func (b *bench) others(index int, handle uint64, percent uint64) {
	b.device(index).SetOthersBytes(capacity / 100 * percent)
	require.NoError(b.t, b.DeviceSetLimit(handle, 0))
}

func TestMonitorByHandle(t *testing.T) {
	b := startBench(t)
	here, there := b.open("test:0"), b.open("test:1")
	first, second := b.manager(here), b.manager(there)
	m := b.monitor()
	require.NoError(t, b.MonitorRegister(m, first))
	requireCode(t, device.CodeAlreadyExists, b.MonitorRegister(m, first))
	require.NoError(t, b.MonitorRegister(m, second))
	heard := make(chan []library.DeviceLevel, 8)
	require.NoError(t, b.MonitorSetCallback(m, 0, func(levels []library.DeviceLevel) { heard <- levels }))
	b.others(1, there, 96)
	want := []library.DeviceLevel{{Device: here, Level: pressure.Low}, {Device: there, Level: pressure.Critical}}
	require.Equal(t, want, <-heard)
	levels, err := b.MonitorGetLevels(m, 0)
	require.NoError(t, err)
	require.Equal(t, want, levels)
	summary, err := b.MonitorGetPressure(m, 0)
	require.NoError(t, err)
	require.Equal(t, pressure.Critical, summary.Level)
	require.Equal(t, 2, summary.Devices)
	_, count, err := b.MonitorCollect(m, 1)
	requireCode(t, device.CodeBufferTooSmall, err)
	require.EqualValues(t, 2, count)
	require.NoError(t, b.MonitorUnregister(m, first))
	require.Equal(t, want[1:], <-heard)
	requireCode(t, device.CodeNotFound, b.MonitorUnregister(m, first))
	require.NoError(t, b.MonitorUnregisterDevice(m, there))
	require.Empty(t, <-heard)
	require.NoError(t, b.MonitorDestroy(m, 0))
	requireCode(t, device.CodeInvalidHandle, b.MonitorDestroy(m, 0))
}

// A registration is weak: neither the manager nor its device waits for the monitor.
func TestMonitorKeepsNothingAlive(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	first := b.manager(dev)
	m := b.monitor()
	require.NoError(t, b.MonitorRegister(m, first))
	require.NoError(t, b.MonitorSetCallback(m, 0, func([]library.DeviceLevel) {}))
	require.NoError(t, b.ManagerDestroy(first, false))
	levels, err := b.MonitorGetLevels(m, 0)
	require.NoError(t, err)
	require.Empty(t, levels)
	require.NoError(t, b.DeviceClose(dev, false))

	dev = b.open("test:0")
	require.NoError(t, b.MonitorRegister(m, b.manager(dev)))
	require.NoError(t, b.DeviceClose(dev, true))
	summary, err := b.MonitorGetPressure(m, 0)
	require.NoError(t, err)
	require.Zero(t, summary.Devices)
	requireCode(t, device.CodeBusy, b.Shutdown(false))
	require.Equal(t, map[string]int{"monitor": 1}, b.leaks().kinds())
	require.NoError(t, b.Shutdown(true))
	require.NoError(t, b.Init(nil))
	_, err = b.MonitorGetLevels(m, 0)
	requireCode(t, device.CodeInvalidHandle, err)
}

func TestMonitorCallbackEndsItsMonitor(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	m := b.monitor()
	require.NoError(t, b.MonitorRegister(m, b.manager(dev)))
	done := make(chan error, 1)
	require.NoError(t, b.MonitorSetCallback(m, 0, func([]library.DeviceLevel) { done <- b.MonitorDestroy(m, m) }))
	b.others(0, dev, 99)
	require.NoError(t, <-done)
}

func TestMonitorCollects(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	mine := b.manager(dev)
	m := b.monitor()
	require.NoError(t, b.MonitorRegister(m, mine))
	h, err := b.ManagerAlloc(mine, 1000)
	require.NoError(t, err)
	require.NoError(t, b.MemoryFree(h))
	done, _, err := b.MonitorCollect(m, 8)
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
	require.NoError(t, b.MonitorRegister(m, b.manager(dev)))
	b.device(0).FailNth(devicetest.Memory, 1, nil)
	text, err := b.MonitorInfoJSON(m, 0)
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
	text, err = b.MonitorInfoJSON(m, 0)
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

// Three host devices over one system, whose own pressure is there or has reasons.
func TestMonitorOfThreeHostDevices(t *testing.T) {
	l := startHost(t, map[string]string{"FERRUM_HOST_DEVICES": "3", "FERRUM_HOST_MEMORY": "96MiB"})
	m, err := l.MonitorCreate(library.MonitorConfig{Profile: pressure.Early})
	require.NoError(t, err)
	for _, id := range []string{"cpu:0", "cpu:1", "cpu:2"} {
		dev, err := l.DeviceOpen(id)
		require.NoError(t, err)
		handle, err := l.ManagerCreate(dev, nil)
		require.NoError(t, err)
		require.NoError(t, l.MonitorRegister(m, handle))
	}
	text, err := l.MonitorInfoJSON(m, 0)
	require.NoError(t, err)
	devices := decode(t, text)["devices"].([]any)
	require.Len(t, devices, 3)
	for _, found := range devices {
		system := found.(map[string]any)["system"].(map[string]any)
		require.ElementsMatch(t, []string{"machine", "group", "events", "high"}, keysOf(system))
		machine := system["machine"].(map[string]any)
		require.True(t, (machine["some"] == nil) == (machine["reason"] != nil))
	}
	summary, err := l.MonitorGetPressure(m, time.Hour)
	require.NoError(t, err)
	require.Equal(t, 3, summary.Devices)
	require.EqualValues(t, 96<<20, summary.TotalBytes)
}

func TestMonitorRefusesBadArguments(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	m, mine := b.monitor(), b.manager(dev)
	_, err := b.MonitorCreate(library.MonitorConfig{Profile: 2})
	requireCode(t, device.CodeInvalidArgument, err)
	requireCode(t, device.CodeInvalidHandle, b.MonitorRegister(mine, mine))
	requireCode(t, device.CodeInvalidHandle, b.MonitorRegister(m, dev))
	requireCode(t, device.CodeInvalidHandle, b.MonitorUnregister(m, 0))
	requireCode(t, device.CodeInvalidHandle, b.MonitorUnregisterDevice(m, mine))
	requireCode(t, device.CodeInvalidHandle, b.MonitorSetCallback(0, 0, nil))
	_, _, err = b.MonitorCollect(dev, 8)
	requireCode(t, device.CodeInvalidHandle, err)
	require.NoError(t, b.MonitorSetCallback(m, 0, nil), "there is none to remove")
}

func TestManyThreadsMonitor(t *testing.T) {
	b := startBench(t)
	devices := []uint64{b.open("test:0"), b.open("test:1")}
	m := b.monitor()
	var wait sync.WaitGroup
	for n := range 16 {
		wait.Go(func() {
			for step := range 20 {
				mine := b.manager(devices[n%2])
				codes := []device.Code{
					device.CodeOf(b.MonitorRegister(m, mine)), device.CodeOf(b.MonitorUnregister(m, mine)),
					device.CodeOf(b.MonitorRegister(m, mine)), device.CodeOf(b.ManagerDestroy(mine, true)),
				}
				if !slices.Equal(codes, make([]device.Code, 4)) {
					panic(codes)
				}
				if _, err := b.MonitorGetPressure(m, time.Duration(step%2)*time.Hour); err != nil {
					panic(err)
				}
				if err := b.MonitorSetCallback(m, 0, func([]library.DeviceLevel) {}); err != nil {
					panic(err)
				}
			}
		})
	}
	wait.Wait()
	summary, err := b.MonitorGetPressure(m, 0)
	require.NoError(t, err)
	require.Zero(t, summary.Devices)
}

// startHost starts a library over the host backend in that environment.
func startHost(t *testing.T, env map[string]string) *library.Library {
	for name, value := range env {
		t.Setenv(name, value)
	}
	l := onHost()
	require.NoError(t, l.Init(nil))
	t.Cleanup(func() { require.NoError(t, l.Shutdown(true)) })
	return l
}
