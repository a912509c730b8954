package coretest

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/placement"
	"ferrum_mem/drivers/cuda"
	"ferrum_mem/drivers/testdevice"
)

// machine is a library with all devices of the simulated driver, and a manager for each.
type machine struct {
	*library.Library
	t        *testing.T
	sim      testdevice.Simulator
	devices  []uint64
	managers []uint64
}

func openMachine(t *testing.T, devices int) *machine {
	m := &machine{t: t, Library: library.New(library.Options{Drivers: func(library.Settings) ([]device.Driver, error) {
		return []device.Driver{cuda.New(cuda.Config{Library: libraryPath})}, nil
	}})}
	m.sim, _ = testdevice.NewSimulator(libraryPath)
	require.NoError(t, m.Init(nil))
	for i := range devices {
		dev, err := m.DeviceOpen(fmt.Sprint("cuda:", i))
		require.NoError(t, err)
		one, err := m.ManagerCreate(dev, nil)
		require.NoError(t, err)
		m.devices, m.managers = append(m.devices, dev), append(m.managers, one)
	}
	return m
}

// object returns the object with this handle, which must exist.
func object[T any](find func(op string, id uint64) (T, error), id uint64) T {
	found, err := find("test", id)
	if err != nil {
		panic(err)
	}
	return found
}

// made returns the factory that creates blocks, streams and events.
func (m *machine) made() *manager.Factory {
	made, err := m.Factory("test")
	require.NoError(m.t, err)
	return made
}

func (m *machine) write(memory manager.MemoryHandle, content []byte) {
	require.NoError(m.t, m.made().Write(memory, 0, hostAddr(content), uint64(len(content))))
	runtime.KeepAlive(content)
}

func (m *machine) holds(memory manager.MemoryHandle, content []byte) {
	m.t.Helper()
	got := make([]byte, len(content))
	require.NoError(m.t, m.made().Read(memory, 0, hostAddr(got), uint64(len(got))))
	require.True(m.t, bytes.Equal(content, got))
}

// Tests several devices of one machine. Bytes are copied from device to device.
// Neighbouring devices share memory. Each request goes to the device that its strategy
// chooses. When one device is lost, the others work and are chosen.
func TestSeveralDevices(t *testing.T) {
	for _, count := range []int{2, 4} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			if !alone(t, fmt.Sprint("SIMCUDA_DEVICES=", count), "SIMCUDA_BYTES=256M", "SIMCUDA_LEAKS=") {
				return
			}
			m := openMachine(t, count)
			m.goAround()
			m.link()
			m.place()
			m.loseLast()
			require.NoError(t, m.Shutdown(true))
			require.Empty(t, m.sim.Leaks())
			require.Empty(t, m.sim.Violations())
		})
	}
}

// goAround copies a block from device to device until it is on the first device again, once
// with copies that wait and once with copies on streams.
func (m *machine) goAround() {
	content := make([]byte, 300_000)
	for i := range content {
		content[i] = byte(i*7 + i/256)
	}
	first, err := object(m.Manager, m.managers[0]).Alloc(uint64(len(content)))
	require.NoError(m.t, err)
	m.write(first, content)
	at := first
	for round := range 2 {
		for i := range m.devices {
			next, err := object(m.Manager, m.managers[(i+1)%len(m.devices)]).Alloc(uint64(len(content)))
			require.NoError(m.t, err)
			transfer := manager.NewTransfer(at, next, uint64(len(content)))
			if round == 0 {
				require.NoError(m.t, m.made().Copy(transfer))
			} else {
				stream, err := m.StreamCreate(m.devices[(i+1)%len(m.devices)])
				require.NoError(m.t, err)
				require.NoError(m.t, m.made().CopyAsync(transfer, manager.StreamHandle(stream)))
				require.NoError(m.t, m.StreamDestroy(stream, true))
			}
			m.holds(next, content)
			require.NoError(m.t, m.made().Free(at))
			at = next
		}
	}
	require.NoError(m.t, m.made().Free(at))
}

// link makes each pair of neighbouring devices share memory.
func (m *machine) link() {
	for i := range m.devices {
		next := (i + 1) % len(m.devices)
		one, other, err := object(m.Manager, m.managers[i]).CreateMapping(m.managers[next], manager.LinkRequest{SizeBytes: 100_000})
		require.NoError(m.t, err)
		content := bytes.Repeat([]byte{byte(i + 1)}, 100_000)
		m.write(one, content)
		m.holds(other, content)
		content[5]++
		m.write(other, content)
		m.holds(one, content)
		require.NoError(m.t, m.made().Free(one))
		m.holds(other, content)
		require.NoError(m.t, m.made().Free(other))
	}
}

// place simulates other processes that allocate more memory on each further device. spread
// then chooses the device with the most free memory. pack chooses the device with the least
// free memory that is enough.
func (m *machine) place() {
	last := len(m.devices) - 1
	for i := range m.devices {
		m.sim.Call("simcuda_others_take", uintptr(i), uintptr(i+1)<<20)
	}
	request := library.PlacementRequest{Request: placement.Request{SizeBytes: 1 << 20}}
	for name, want := range map[string]uint64{placement.Spread: m.devices[0], placement.Pack: m.devices[last]} {
		require.Equal(m.t, want, m.selected(name, request), name)
	}
	m.sim.Call("simcuda_others_take", uintptr(last), uintptr(255)<<20)
	request.SizeBytes = 100 << 20
	require.Equal(m.t, m.devices[last-1], m.selected(placement.Pack, request))
}

func (m *machine) selected(name string, request library.PlacementRequest) uint64 {
	s, err := m.PlacementCreate(name)
	require.NoError(m.t, err)
	for _, dev := range m.devices {
		// Selection uses a recent reading, so read again. Reading a lost device fails.
		_, _ = object(m.Device, dev).MemoryInfo()
	}
	chosen, err := object(m.Placement, s).Select(request)
	require.NoError(m.t, err)
	require.NoError(m.t, object(m.Placement, s).Destroy(nil))
	return chosen
}

// loseLast loses the last device while a copy to it runs.
func (m *machine) loseLast() {
	last := len(m.devices) - 1
	m.sim.Call("simcuda_others_take", uintptr(last), 0)
	source, err := object(m.Manager, m.managers[0]).Alloc(1 << 20)
	require.NoError(m.t, err)
	target, err := object(m.Manager, m.managers[last]).Alloc(1 << 20)
	require.NoError(m.t, err)
	m.sim.Fault("cuMemcpyPeerAsync", 1, resultECC)
	err = m.made().Copy(manager.NewTransfer(source, target, 1<<20))
	require.Equal(m.t, device.CodeDeviceLost, device.CodeOf(err), "%v", err)
	require.EqualValues(m.t, resultECC, nativeOf(err))
	_, err = object(m.Device, m.devices[last]).MemoryInfo()
	require.Equal(m.t, device.CodeDeviceLost, device.CodeOf(err), "%v", err)
	for i := range last {
		_, err := object(m.Device, m.devices[i]).MemoryInfo()
		require.NoError(m.t, err)
	}
	content := bytes.Repeat([]byte{9}, 1<<20)
	m.write(source, content)
	m.holds(source, content)
	request := library.PlacementRequest{Request: placement.Request{SizeBytes: 1 << 20}}
	for _, name := range []string{placement.Spread, placement.Pack, placement.BestFit} {
		require.NotEqual(m.t, m.devices[last], m.selected(name, request), name)
	}
	require.NoError(m.t, m.made().Free(source))
	require.NoError(m.t, object(m.Device, m.devices[last]).Close(true))
}
