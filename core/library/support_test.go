package library_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
)

const capacity = 64 << 20

// bench is a library on test devices, with control over both.
type bench struct {
	*library.Library
	t      *testing.T
	driver *watchedDriver
	env    map[string]string
}

// watchedDriver records the devices that it has opened.
type watchedDriver struct {
	*devicetest.Driver
	mu      sync.Mutex
	opened  map[int]*devicetest.Device
	openErr error
}

func (d *watchedDriver) Open(index int) (device.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.openErr != nil {
		err := d.openErr
		d.openErr = nil
		return nil, err
	}
	opened, err := d.Driver.Open(index)
	if err != nil {
		return nil, err
	}
	d.opened[index] = opened.(*devicetest.Device)
	return opened, nil
}

// device returns the last opened device of that number.
func (b *bench) device(index int) *devicetest.Device {
	b.driver.mu.Lock()
	defer b.driver.mu.Unlock()
	return b.driver.opened[index]
}

// newBench returns a library with two devices that is not started.
func newBench(t *testing.T, change ...func(*library.Options)) *bench {
	b := &bench{t: t, env: map[string]string{}, driver: &watchedDriver{
		Driver: devicetest.New(devicetest.Config{Devices: 2, TotalBytes: capacity}),
		opened: map[int]*devicetest.Device{},
	}}
	options := library.Options{
		Drivers: func(library.Settings) ([]device.Driver, error) { return []device.Driver{b.driver}, nil },
		Getenv:  func(name string) string { return b.env[name] },
	}
	for _, apply := range change {
		apply(&options)
	}
	b.Library = library.New(options)
	return b
}

// startBench returns a started library, and stops it by force at the end of the test.
func startBench(t *testing.T, change ...func(*library.Options)) *bench {
	b := newBench(t, change...)
	require.NoError(t, b.Init(nil))
	t.Cleanup(func() {
		for b.Shutdown(true) == nil {
		}
		for index := range 2 {
			if dev := b.device(index); dev != nil {
				require.Zero(t, dev.Segments(), "segments of device %d", index)
				require.Zero(t, dev.OpenEvents(), "events of device %d", index)
				require.Zero(t, dev.OpenStreams(), "streams of device %d", index)
				require.Zero(t, dev.Reservations(), "address space of device %d", index)
				require.Zero(t, dev.Pages(), "pages of device %d", index)
			}
		}
	})
	return b
}

// startBackedBench is startBench with devices that have real bytes.
func startBackedBench(t *testing.T) *bench {
	b := startBench(t)
	require.NoError(t, b.Shutdown(false))
	b.driver.Driver = devicetest.New(devicetest.Config{Devices: 2, TotalBytes: capacity, Backed: true})
	require.NoError(t, b.Init(nil))
	return b
}

func (b *bench) open(id string) uint64 {
	handle, err := b.DeviceOpen(id)
	require.NoError(b.t, err)
	return handle
}

// smallPool returns settings that fit the test devices.
func smallPool() *pool.Config {
	c := pool.DefaultConfig()
	c.Name, c.InitialSizeBytes, c.GrowthIncrementBytes = "small", 1<<20, 1<<20
	c.Paging, c.PhysicalPageBytes = paging, 1<<20
	// Idle pages are released only when a test requests it.
	c.ReadyPages = pool.KeepAllPages
	return &c
}

// paging is the paging of the small pools: a piece is a page or a segment of 1 MiB.
var paging = pool.PagingAuto

// overBoth runs a test with paged and with segmented pools.
func overBoth(t *testing.T, test func(t *testing.T)) {
	defer func(was pool.Paging) { paging = was }(paging)
	for name, kind := range map[string]pool.Paging{"pages": pool.PagingOn, "segments": pool.PagingOff} {
		t.Run(name, func(t *testing.T) {
			paging = kind
			test(t)
		})
	}
}

// takeCall and giveBackCall return the first driver calls that allocate and release
// memory of a small pool.
func takeCall() devicetest.Call {
	if paging == pool.PagingOff {
		return devicetest.Alloc
	}
	return devicetest.Create
}

func giveBackCall() devicetest.Call {
	if paging == pool.PagingOff {
		return devicetest.Free
	}
	return devicetest.Unmap
}

func (b *bench) pool(device uint64) uint64 {
	handle, err := b.PoolCreate(device, smallPool())
	require.NoError(b.t, err)
	return handle
}

// at returns the object with that handle, which must exist.
func at[T library.Member](find func(op string, id uint64) (T, error), id uint64) T {
	object, err := find("test", id)
	if err != nil {
		panic(err)
	}
	return object
}

// do calls the object with that handle, like an export.
func do[T library.Member](find func(op string, id uint64) (T, error), id uint64, call func(T) error) error {
	return end(find, id, func(object T) error { return library.CallError(call(object), object) })
}

// end is do for a call that ends the object and returns the final error itself.
func end[T library.Member](find func(op string, id uint64) (T, error), id uint64, call func(T) error) error {
	object, err := find("test", id)
	if err != nil {
		return err
	}
	return call(object)
}

// made returns the factory of blocks, streams and events, while the library runs.
func made(l interface {
	Factory(op string) (*manager.Factory, error)
}) *manager.Factory {
	factory, err := l.Factory("test")
	if err != nil {
		panic(err)
	}
	return factory
}

// ofFactory makes a call for blocks, streams and events, like an export.
func ofFactory(l *library.Library, call func(f *manager.Factory) error) error {
	factory, err := l.Factory("test")
	if err != nil {
		return err
	}
	return call(factory)
}

// free frees a block of a manager.
func (b *bench) free(memory uint64) error {
	return ofFactory(b.Library, func(f *manager.Factory) error { return f.Free(manager.MemoryHandle(memory)) })
}

// second returns the error of a call with a result.
func second[R any](_ R, err error) error { return err }

func requireCode(t require.TestingT, want device.Code, err error) {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}
	require.Error(t, err)
	require.Equal(t, want, device.CodeOf(err), "%v", err)
}

// leaks is a leak report as decoded from its JSON.
type leaks struct {
	Leaks []struct {
		Kind, Device, Tag      string
		Handle, Address, Bytes uint64
		AgeNS                  uint64 `json:"age_ns"`
	}
	Omitted    uint64
	TotalBytes uint64 `json:"total_bytes"`
}

func (b *bench) leaks() leaks {
	var report leaks
	require.NoError(b.t, json.Unmarshal(b.LeakReportJSON(), &report))
	return report
}

func (l leaks) kinds() map[string]int {
	counts := map[string]int{}
	for _, found := range l.Leaks {
		counts[found.Kind]++
	}
	return counts
}

// keysOf lists the keys of a decoded JSON object.
func keysOf(object any) []string {
	var keys []string
	for key := range object.(map[string]any) {
		keys = append(keys, key)
	}
	return keys
}

// modelRef names a model of an elastic pool.
type modelRef struct {
	pool uint64
	id   string
}
