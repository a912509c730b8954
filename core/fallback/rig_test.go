package fallback_test

import (
	"os"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/fallback"
	"ferrum_mem/drivers/host"
	"ferrum_mem/drivers/testdevice"
)

const mib = 1 << 20

func TestMain(m *testing.M) { os.Exit(testdevice.Main(m, nil)) }

// shaky wraps a real device. A test can make its n-th call fail and can choose the size of
// its memory. It has none of the optional capabilities.
type shaky struct {
	device.Device
	stream     *shakyStream
	totalBytes uint64

	mu sync.Mutex
	// left is the number of calls that succeed before one fails. Below 0, all calls
	// succeed.
	left   int
	calls  int
	failed bool
	held   uint64
}

type shakyStream struct {
	device.Stream
	of *shaky
}

func (d *shaky) enter() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	if d.left < 0 {
		return nil
	}
	d.left--
	if d.left >= 0 {
		return nil
	}
	d.failed = true
	return device.Errorf(device.CodeDevice, "shaky", "asked for by the test")
}

// failAfter lets that many calls succeed and makes the next one fail.
func (d *shaky) failAfter(calls int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.calls, d.failed = calls, 0, false
}

// hasFailed ends the fault injection, and returns whether a call failed.
func (d *shaky) hasFailed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = -1
	return d.failed
}

func (d *shaky) Info() device.Info {
	info := d.Device.Info()
	info.Peer, info.HostVisible, info.VirtualMemory = false, false, false
	info.TotalBytes = d.totalBytes
	return info
}

func (d *shaky) DefaultStream() device.Stream { return d.stream }

func (d *shaky) Alloc(size uint64) (device.Addr, error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if size > d.totalBytes-d.held {
		return 0, device.Errorf(device.CodeOutOfMemory, "shaky.alloc", "%d bytes, and %d of %d are held", size, d.held, d.totalBytes)
	}
	addr, err := d.Device.Alloc(size)
	if err == nil {
		d.held += size
	}
	return addr, err
}

func (d *shaky) Free(addr device.Addr, size uint64) error {
	if err := d.enter(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.Device.Free(addr, size)
	if err == nil {
		d.held -= size
	}
	return err
}

func (d *shaky) Memory() (device.MemoryReading, error) {
	if err := d.enter(); err != nil {
		return device.MemoryReading{}, err
	}
	reading, err := d.Device.Memory()
	if err != nil {
		return reading, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return device.MemoryReading{TotalBytes: d.totalBytes, FreeBytes: min(reading.FreeBytes, d.totalBytes-d.held)}, nil
}

func (s *shakyStream) Idle() (bool, error) {
	if err := s.of.enter(); err != nil {
		return false, err
	}
	return s.Stream.Idle()
}

func (s *shakyStream) Synchronize(timeout time.Duration) error {
	if err := s.of.enter(); err != nil {
		return err
	}
	return s.Stream.Synchronize(timeout)
}

func (s *shakyStream) CopyToHost(dst device.HostAddr, src device.Addr, size uint64) error {
	if err := s.of.enter(); err != nil {
		return err
	}
	return s.Stream.CopyToHost(dst, src, size)
}

func (s *shakyStream) CopyFromHost(dst device.Addr, src device.HostAddr, size uint64) error {
	if err := s.of.enter(); err != nil {
		return err
	}
	return s.Stream.CopyFromHost(dst, src, size)
}

// rig is the device under test, in the role of the GPU, and the host. If the suite runs on
// the host, a second device of the host backend has the role of the GPU.
type rig struct {
	gpuDevice, hostDevice *shaky
	gpu, host             *engine.Engine
}

// newRig creates a rig with eachBytes of memory on each device.
func newRig(t require.TestingT, eachBytes uint64) *rig {
	driver, err := host.New(host.Config{Devices: 2, MemoryBytes: 2 * eachBytes})
	require.NoError(t, err)
	cpu, err := driver.Open(0)
	require.NoError(t, err)
	var gpu device.Device
	if testdevice.OnHost() {
		gpu, err = driver.Open(1)
		require.NoError(t, err)
	} else {
		gpu = testdevice.Open(t, eachBytes)
	}
	open := func(dev device.Device) *shaky {
		d := &shaky{Device: dev, left: -1, totalBytes: eachBytes}
		d.stream = &shakyStream{Stream: dev.DefaultStream(), of: d}
		return d
	}
	r := &rig{hostDevice: open(cpu), gpuDevice: open(gpu)}
	r.host, r.gpu = engine.New(r.hostDevice, engine.Options{}), engine.New(r.gpuDevice, engine.Options{})
	return r
}

// close checks that both devices hold no memory and no live block, and closes them.
func (r *rig) close(t require.TestingT) {
	for _, e := range []*engine.Engine{r.gpu, r.host} {
		stats := e.Statistics()
		require.Zero(t, stats.Reserved.Current+stats.LiveBlocks.Current)
		require.NoError(t, e.Close())
	}
}

func (r *rig) manager(t require.TestingT, c fallback.MemoryConfig) *fallback.Manager {
	m, err := fallback.NewManager(r.gpu, r.host, c)
	require.NoError(t, err)
	return m
}

// plainConfig allows the whole device and requires no free minimum.
func plainConfig() fallback.MemoryConfig {
	return fallback.DefaultMemoryConfig().WithGPUMemoryFraction(1).WithMinFreeBytes(0)
}

// hostAddr returns the address of the slice's memory. The caller keeps the slice alive.
func hostAddr(b []byte) device.HostAddr { return device.HostAddr(reflect.ValueOf(b).Pointer()) }

// fill writes a pattern that is unique to the buffer, and returns the pattern.
func fill(t require.TestingT, b *fallback.Buffer) []byte {
	content := make([]byte, b.SizeBytes())
	for i := range content {
		content[i] = byte(uint64(i)*7 + uint64(b.ID())*31)
	}
	require.NoError(t, b.Write(fallback.Part{SizeBytes: b.SizeBytes()}, hostAddr(content)))
	return content
}

// contents returns the bytes of a buffer.
func contents(t require.TestingT, b *fallback.Buffer) []byte {
	got := make([]byte, b.SizeBytes())
	require.NoError(t, b.Read(fallback.Part{SizeBytes: b.SizeBytes()}, hostAddr(got)))
	return got
}

func bytesOf(n uint64) fallback.Request {
	return fallback.Request{Shape: fallback.Shape{DType: fallback.U8, Len: n}}
}
