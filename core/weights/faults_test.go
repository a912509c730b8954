package weights_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/weights"
	"ferrum_mem/drivers/host"
)

// hidden wraps the host device as a device whose memory the host cannot address: loads go through
// staging buffers. It counts the calls of the driver, and can make one of them fail.
type hidden struct {
	device.Device
	isPinned bool
	first    *hiddenStream

	mu                         sync.Mutex
	calls, failing             int
	pinned, mostPinned, copies uint64
}

var errBroken = device.Errorf(device.CodeResourceExhausted, "hidden", "this call is broken")

func (d *hidden) call() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls++; d.calls == d.failing {
		return errBroken
	}
	return nil
}

// failAt makes one call fail, by its number counted from now; 0: none.
func (d *hidden) failAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.failing = 0, n
}

func (d *hidden) Info() device.Info {
	inner := d.Device.Info()
	return device.Info{
		ID: inner.ID, Name: "hidden", TotalBytes: inner.TotalBytes, GranularityBytes: inner.GranularityBytes,
		AlignmentBytes: inner.AlignmentBytes, PinnedHost: d.isPinned,
	}
}

func (d *hidden) Alloc(size uint64) (device.Addr, error) {
	if err := d.call(); err != nil {
		return 0, err
	}
	return d.Device.Alloc(size)
}

func (d *hidden) Free(addr device.Addr, size uint64) error {
	if err := d.call(); err != nil {
		return err
	}
	return d.Device.Free(addr, size)
}

func (d *hidden) AllocPinned(size uint64) (device.PinnedMemory, error) {
	if err := d.call(); err != nil {
		return device.PinnedMemory{}, err
	}
	d.mu.Lock()
	d.pinned += size
	d.mostPinned = max(d.mostPinned, d.pinned)
	d.mu.Unlock()
	return d.Device.(device.PinnedHost).AllocPinned(size)
}

func (d *hidden) FreePinned(addr device.Addr, size uint64) error {
	if err := d.call(); err != nil {
		return err
	}
	d.mu.Lock()
	d.pinned -= size
	d.mu.Unlock()
	return d.Device.(device.PinnedHost).FreePinned(addr, size)
}

func (d *hidden) DefaultStream() device.Stream { return d.first }

func (d *hidden) NewStream() (device.Stream, error) {
	if err := d.call(); err != nil {
		return nil, err
	}
	inner, err := d.Device.NewStream()
	return &hiddenStream{Stream: inner, of: d}, err
}

type hiddenStream struct {
	device.Stream
	of *hidden
}

func (s *hiddenStream) CopyFromHost(dst device.Addr, src device.HostAddr, size uint64) error {
	if err := s.of.call(); err != nil {
		return err
	}
	s.of.mu.Lock()
	s.of.copies++
	s.of.mu.Unlock()
	return s.Stream.CopyFromHost(dst, src, size)
}

func (s *hiddenStream) RecordEvent() (device.Event, error) {
	if err := s.of.call(); err != nil {
		return nil, err
	}
	return s.Stream.RecordEvent()
}

func (s *hiddenStream) HostFunction(fn func()) error {
	if err := s.of.call(); err != nil {
		return err
	}
	return s.Stream.HostFunction(fn)
}

func (s *hiddenStream) Synchronize(timeout time.Duration) error {
	if err := s.of.call(); err != nil {
		return err
	}
	return s.Stream.Synchronize(timeout)
}

func (s *hiddenStream) Idle() (bool, error) {
	if err := s.of.call(); err != nil {
		return false, err
	}
	return s.Stream.Idle()
}

func (s *hiddenStream) Close() error {
	if err := s.of.call(); err != nil {
		return err
	}
	return s.Stream.Close()
}

func openHidden(t *testing.T, pinned bool) *hidden {
	t.Helper()
	driver, err := host.New(host.Config{MemoryBytes: 256 << 20})
	require.NoError(t, err)
	inner, err := driver.Open(0)
	require.NoError(t, err)
	d := &hidden{Device: inner, isPinned: pinned}
	d.first = &hiddenStream{Stream: inner.DefaultStream(), of: d}
	return d
}

// newHidden opens such a device. pinned: the device has page-locked memory.
func newHidden(t *testing.T, pinned bool) (*hidden, *engine.Engine) {
	t.Helper()
	d := openHidden(t, pinned)
	e := engine.New(d, engine.Options{})
	t.Cleanup(func() {
		d.failAt(0)
		require.NoError(t, e.Close(), "the device has no stream and no memory of a load")
	})
	return d, e
}

func TestLoadsThroughBoundedStaging(t *testing.T) {
	for _, pinned := range []bool{true, false} {
		m := newModel(t, 9<<20, 1, 300, 5<<20)
		d, e := newHidden(t, pinned)
		p := newPool(t, e)
		s := m.open(t)
		before := offheap.Mapped()
		require.Zero(t, weights.StagingBytes())
		most := uint64(0)
		set, err := s.Load(context.Background(), all(t, s), weights.LoadOptions{
			Memory: weights.InPool(p, ""), Threads: 3, StagingBytes: 1 << 20, Progress: func(weights.Progress) {
				assert.EqualValues(t, 1<<20, weights.StagingBytes(), "staging memory is counted while it exists")
				most = max(most, offheap.Mapped()-before)
			},
		})
		require.NoError(t, err)
		m.assertLoaded(t, set)
		if pinned {
			assert.EqualValues(t, 1<<20, d.mostPinned)
			assert.Zero(t, most)
		} else {
			assert.LessOrEqual(t, most, uint64(4<<20), "blocks of memory are whole huge pages")
		}
		assert.Zero(t, d.pinned)
		assert.Zero(t, weights.StagingBytes())
		assert.Equal(t, before, offheap.Mapped())
		assert.GreaterOrEqual(t, d.copies, uint64(14*4), "parts of a quarter of the staging memory")
		require.NoError(t, set.Free())
	}
}

// Each call of the driver fails once. The load then either succeeds, or leaves no memory allocated.
func TestEachDriverCallFails(t *testing.T) {
	m := newModel(t, 300<<10, 100, 200<<10)
	for _, pinned := range []bool{true, false} {
		d, e := newHidden(t, pinned)
		p := newPool(t, e)
		s := m.open(t)
		failures := 0
		for n := 1; ; n++ {
			before, streams := p.Statistics(), len(e.Pools(nil))
			d.failAt(n)
			set, err := s.Load(context.Background(), all(t, s), weights.LoadOptions{Memory: weights.InPool(p, ""), Threads: 2, StagingBytes: 256 << 10})
			d.mu.Lock()
			wasCalled := d.calls >= n
			d.mu.Unlock()
			d.failAt(0)
			if err != nil {
				failures++
				require.ErrorIs(t, err, device.CodeResourceExhausted, "call %d", n)
				require.NotErrorIs(t, err, device.CodeInvalidAddress, "call %d: nothing is freed that was not allocated", n)
				require.Nil(t, set)
				p.CompleteFrees()
			} else {
				m.assertLoaded(t, set)
				require.NoError(t, set.Free())
			}
			require.Equal(t, before.Allocated.Current, p.Statistics().Allocated.Current, "call %d", n)
			require.Equal(t, before.LiveBlocks.Current, p.Statistics().LiveBlocks.Current, "call %d", n)
			require.Zero(t, d.pinned, "call %d", n)
			require.Zero(t, weights.StagingBytes(), "call %d", n)
			require.Len(t, e.Pools(nil), streams)
			if !wasCalled {
				require.NoError(t, err)
				break
			}
		}
		assert.Greater(t, failures, 8)
	}
}

// readStep is the step of loops over the reads of a call. With -short, which the race detector
// gets, a third of the reads fail.
func readStep() int {
	if testing.Short() {
		return 3
	}
	return 1
}

// Each read of the files fails once.
func TestEachReadFails(t *testing.T) {
	m := newModel(t, 9<<20, 100, 3<<20)
	for _, isHidden := range []bool{true, false} {
		var e *engine.Engine
		if isHidden {
			_, e = newHidden(t, true)
		} else {
			e = newHost(t)
		}
		p := newPool(t, e)
		for n := 1; ; n += readStep() {
			s := m.open(t)
			reads := weights.FailRead(s, n)
			set, err := s.Load(context.Background(), []weights.Spec{
				{Name: "a", Tensor: m.order[0]}, {Name: "b", Tensor: m.order[1]},
				{Name: "c", Tensor: m.order[2], Transformations: []weights.Transformation{{Kind: weights.Cast, Type: dtype.F16}}},
			}, weights.LoadOptions{Memory: weights.InPool(p, ""), Threads: 2})
			if reads() < n {
				require.NoError(t, err)
				require.NoError(t, set.Free())
				break
			}
			require.ErrorIs(t, err, device.CodeIO)
			require.ErrorContains(t, err, "the disk is broken")
			require.ErrorContains(t, err, m.path)
			require.Nil(t, set)
			require.Zero(t, p.Statistics().Allocated.Current)
			require.Zero(t, p.Statistics().LiveBlocks.Current)
		}
	}
}

func TestLoadsThatFindNoMemory(t *testing.T) {
	m := newModel(t, 9<<20, 5<<20)
	p, err := pool.New(newHost(t), pool.Config{Name: "small", InitialSizeBytes: 8 << 20, MaxSizeBytes: 8 << 20})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close(false)) }()
	s := m.open(t)
	_, err = s.Load(context.Background(), all(t, s), weights.LoadOptions{Memory: weights.InPool(p, "")})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	assert.Zero(t, p.Statistics().LiveBlocks.Current)
}

// A load with tensors on two devices loads all of them, or none on both devices.
func TestLoadsOnTwoDevices(t *testing.T) {
	m := newModel(t, 9<<20, 5<<20, 1<<20)
	one, two := newPool(t, newHost(t)), func() *pool.Pool { _, e := newHidden(t, true); return newPool(t, e) }()
	s := m.open(t)
	specs := all(t, s)
	specs[1].Memory = weights.InPool(two, "second")
	set, err := s.Load(context.Background(), specs, weights.LoadOptions{Memory: weights.InPool(one, "first")})
	require.NoError(t, err)
	m.assertLoaded(t, set)
	assert.EqualValues(t, 1, one.Statistics().LiveBlocks.Current)
	assert.EqualValues(t, 1, two.Statistics().LiveBlocks.Current)
	require.NoError(t, set.Free())

	small, err := pool.New(two.Engine(), pool.Config{Name: "small", InitialSizeBytes: 1 << 20, MaxSizeBytes: 1 << 20})
	require.NoError(t, err)
	defer func() { require.NoError(t, small.Close(false)) }()
	specs[1].Memory = weights.InPool(small, "")
	_, err = s.Load(context.Background(), specs, weights.LoadOptions{Memory: weights.InPool(one, "")})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	assert.Zero(t, one.Statistics().LiveBlocks.Current)
}
