package backend_test

import (
	"encoding/binary"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/tensor"
	"ferrum_mem/drivers/host"
)

// requireError checks the code of an error, and that its message names something.
func requireError(t testing.TB, code device.Code, err error, names ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, device.CodeOf(err), "%v", err)
	var typed *device.Error
	require.True(t, errors.As(err, &typed))
	for _, name := range names {
		require.ErrorContains(t, err, name)
	}
}

// brittle is the host device. It counts calls, and can make one of them fail.
type brittle struct {
	device.Device
	first *brittleStream
	// isHidden states that the host cannot address the memory, as far as callers know.
	isHidden bool

	mu             sync.Mutex
	calls, failing int
	// queued counts host functions.
	queued int
}

var errBroken = device.Errorf(device.CodeResourceExhausted, "brittle", "this call is broken")

func (d *brittle) call() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls++; d.calls == d.failing {
		return errBroken
	}
	return nil
}

// failAt makes one call fail, by its number counted from now; 0: none.
func (d *brittle) failAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.failing = 0, n
}

// hasFailed states whether that call was reached, and lets all calls succeed again.
func (d *brittle) hasFailed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	reached := d.failing > 0 && d.calls >= d.failing
	d.calls, d.failing = 0, 0
	return reached
}

func (d *brittle) Info() device.Info {
	inner := d.Device.Info()
	return device.Info{
		ID: inner.ID, Name: "brittle", TotalBytes: inner.TotalBytes, GranularityBytes: inner.GranularityBytes,
		AlignmentBytes: inner.AlignmentBytes, HostAddressable: !d.isHidden,
	}
}

func (d *brittle) Alloc(size uint64) (device.Addr, error) {
	if err := d.call(); err != nil {
		return 0, err
	}
	return d.Device.Alloc(size)
}

func (d *brittle) Free(addr device.Addr, size uint64) error {
	if err := d.call(); err != nil {
		return err
	}
	return d.Device.Free(addr, size)
}

func (d *brittle) DefaultStream() device.Stream { return d.first }

func (d *brittle) NewStream() (device.Stream, error) {
	inner, err := d.Device.NewStream()
	return &brittleStream{Stream: inner, of: d}, err
}

type brittleStream struct {
	device.Stream
	of *brittle
	// isShared states that other work may be queued than that which Idle reports.
	isShared bool
}

func (s *brittleStream) TakesForeignWork() bool { return s.isShared }

func (s *brittleStream) HostWork(fn func() error) error {
	if err := s.of.call(); err != nil {
		return err
	}
	s.of.mu.Lock()
	s.of.queued++
	s.of.mu.Unlock()
	return s.Stream.(device.HostWorker).HostWork(fn)
}

func (s *brittleStream) RecordEvent() (device.Event, error) {
	if err := s.of.call(); err != nil {
		return nil, err
	}
	return s.Stream.RecordEvent()
}

func (s *brittleStream) Synchronize(timeout time.Duration) error {
	if err := s.of.call(); err != nil {
		return err
	}
	return s.Stream.Synchronize(timeout)
}

func (s *brittleStream) Idle() (bool, error) {
	if err := s.of.call(); err != nil {
		return false, err
	}
	return s.Stream.Idle()
}

// rig is a device, a factory and a registry with the test engine.
type rig struct {
	t                 testing.TB
	dev               *brittle
	device            *engine.Engine
	factory           *manager.Factory
	registry          *backend.Registry
	made              testEngine
	plans, runs, open atomic.Int64
	stream            device.Stream
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return makeRig(t, false, false)
}

// newHiddenRig returns a rig whose device has memory that the host cannot address.
func newHiddenRig(t testing.TB) *rig {
	t.Helper()
	return makeRig(t, false, true)
}

// newPagedRig returns a rig whose device maps pages. None of its calls fails.
func newPagedRig(t testing.TB) *rig {
	t.Helper()
	return makeRig(t, true, false)
}

func makeRig(t testing.TB, isPaged, isHidden bool) *rig {
	t.Helper()
	driver, err := host.New(host.Config{MemoryBytes: 256 << 20})
	require.NoError(t, err)
	inner, err := driver.Open(0)
	require.NoError(t, err)
	r := &rig{t: t, dev: &brittle{Device: inner, isHidden: isHidden}, factory: manager.NewFactory()}
	r.dev.first = &brittleStream{Stream: inner.DefaultStream(), of: r.dev}
	r.device = engine.New(r.dev, engine.Options{})
	if isPaged {
		r.device = engine.New(inner, engine.Options{})
	}
	r.made = testEngine{call: r.dev.call, plans: &r.plans, runs: &r.runs, open: &r.open, set: "plain"}
	r.registry = backend.NewRegistry(backend.Settings{
		Engines: []backend.Engine{{Type: backend.CPU, DeviceBackends: []string{"cpu"}, New: func(o compute.Options) (compute.Engine, error) {
			if err := r.dev.call(); err != nil {
				return nil, err
			}
			made := r.made
			if o.InstructionSet != "" {
				made.set = o.InstructionSet
			}
			r.open.Add(1)
			return &made, nil
		}}},
		Devices: func() []device.ID { return []device.ID{r.device.ID(), {Backend: "cuda"}} },
	})
	r.stream, err = r.device.Device().NewStream()
	require.NoError(t, err)
	t.Cleanup(func() {
		r.dev.failAt(0)
		require.NoError(t, r.stream.Close())
		_, err := r.factory.CloseDevice(r.device, false)
		require.NoError(t, err, "no manager is left")
		require.NoError(t, r.device.Close(), "no memory is left")
		require.Zero(t, r.open.Load(), "no engine is left")
	})
	return r
}

// start opens a backend with the default settings after a change.
func (r *rig) start(change func(*backend.Config)) *backend.Backend {
	r.t.Helper()
	c := backend.DefaultConfig()
	if change != nil {
		change(&c)
	}
	b, err := r.registry.Open(r.factory, r.device, c)
	require.NoError(r.t, err)
	return b
}

func prepare(t testing.TB, b *backend.Backend, name, attributes string) *backend.Op {
	t.Helper()
	o, err := b.Prepare(name, []byte(attributes), 0)
	require.NoError(t, err)
	return o
}

// put makes a tensor with elements in the backend's memory.
func (r *rig) put(b *backend.Backend, values []float32, shape ...int64) *tensor.Tensor {
	r.t.Helper()
	made, err := tensor.New(b.Memory(), dtype.F32, shape, r.stream)
	require.NoError(r.t, err)
	bytes := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(bytes[4*i:], math.Float32bits(v))
	}
	write(made, bytes)
	return made
}

// list makes a tensor of I64.
func (r *rig) list(b *backend.Backend, values ...int64) *tensor.Tensor {
	r.t.Helper()
	made, err := tensor.New(b.Memory(), dtype.I64, []int64{int64(len(values))}, r.stream)
	require.NoError(r.t, err)
	bytes := make([]byte, 8*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint64(bytes[8*i:], uint64(v))
	}
	write(made, bytes)
	return made
}

func write(to *tensor.Tensor, bytes []byte) {
	if len(bytes) > 0 {
		spread(to.Addr(), compute.Operand{Type: to.Type(), Layout: to.Layout().FromZero()}, bytes)
	}
}

// get reads the elements of an F32 tensor.
func get(from *tensor.Tensor) []float32 {
	bytes := elements(from.Addr(), compute.Operand{Type: from.Type(), Layout: from.Layout().FromZero()})
	values := make([]float32, len(bytes)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
	}
	return values
}

func closeTensors(t testing.TB, tensors ...*tensor.Tensor) {
	t.Helper()
	for _, one := range tensors {
		require.NoError(t, one.Close())
	}
}

// hold stops a stream until the result is called.
func (r *rig) hold(stream device.Stream) (open func()) {
	gate := make(chan struct{})
	require.NoError(r.t, stream.HostFunction(func() { <-gate }))
	open = sync.OnceFunc(func() { close(gate) })
	r.t.Cleanup(open)
	return open
}
