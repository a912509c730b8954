package streams

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/gate"
	"ferrum_mem/drivers/host/mapping"
)

// The tests of this package use the streams of a device whose memory is one range that
// counts its uses. Host functions block a stream until the test releases them.

// memory is a range that always exists.
type memory struct {
	base, size, used uint64
	// uses counts the queued operations that hold the range. populated counts the calls of
	// Populate.
	uses, populated atomic.Int64
}

func (m *memory) Acquire(op, what string, addr device.Addr, size uint64, _ device.Access) (Held, error) {
	if size == 0 || uint64(addr) < m.base || uint64(addr)-m.base >= m.size || size > m.size-(uint64(addr)-m.base) {
		return nil, device.Errorf(device.CodeInvalidAddress, op, "%s %#x, size %d: not in the range", what, uint64(addr), size)
	}
	m.uses.Add(1)
	return m, nil
}

func (m *memory) Release() { m.uses.Add(-1) }

func (m *memory) Check(string, uint64, uint64) error { return nil }

func (m *memory) Populate(address, size uint64) { m.populated.Add(1) }

// opened is a device that has only its streams.
type opened struct {
	*Set
	memory *memory
}

func openOne(t testing.TB) *opened { return openSome(t, 1)[0] }

func openSome(t testing.TB, count int) []*opened {
	t.Helper()
	var all []*opened
	start := time.Now()
	for i := range count {
		id := device.ID{Backend: "cpu", Index: i}
		calls := mapping.System()
		base, err := calls.Reserve(64 << 20)
		require.NoError(t, err)
		m := &memory{base: base, size: 64 << 20}
		o := &opened{Set: New(id, m, gate.New(id), start), memory: m}
		all = append(all, o)
		t.Cleanup(func() {
			require.NoError(t, o.Synchronize(device.Forever))
			for _, s := range o.list() {
				if s != o.first {
					require.NoError(t, s.Close())
				}
			}
			require.NoError(t, o.CloseDefault("test"))
			require.Zero(t, m.uses.Load(), "nothing is held")
			require.NoError(t, calls.Release(base, m.size))
		})
	}
	return all
}

func allocate(t testing.TB, o *opened, size uint64) device.Addr {
	t.Helper()
	addr := o.memory.base + o.memory.used
	o.memory.used += size
	require.LessOrEqual(t, o.memory.used, o.memory.size)
	return device.Addr(addr)
}

func view(addr device.Addr, size uint64) []byte { return mapping.Bytes(uint64(addr), size) }

// hostBuffer is memory of the process outside of the Go heap.
func hostBuffer(t testing.TB, size uint64) (device.HostAddr, []byte) {
	t.Helper()
	calls := mapping.System()
	address, err := calls.Reserve(size)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, calls.Release(address, size)) })
	return device.HostAddr(address), mapping.Bytes(address, size)
}

func scramble(b []byte, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

func newQueue(t testing.TB, o *opened) *Stream {
	t.Helper()
	s, err := o.NewStream()
	require.NoError(t, err)
	return s.(*Stream)
}

// barrier blocks a stream until it is opened, at the latest when the test ends.
type barrier struct {
	entered, opened chan struct{}
	once            sync.Once
}

func (b *barrier) open() { b.once.Do(func() { close(b.opened) }) }

func holdUp(t testing.TB, s *Stream) *barrier {
	t.Helper()
	b := &barrier{entered: make(chan struct{}), opened: make(chan struct{})}
	require.NoError(t, s.HostFunction(func() {
		close(b.entered)
		<-b.opened
	}))
	t.Cleanup(b.open)
	return b
}

func requireCode(t testing.TB, code device.Code, err error, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, device.CodeOf(err), err.Error())
	for _, word := range words {
		require.ErrorContains(t, err, word)
	}
}

// Queued work holds its memory from the call until the work is done. Rejected work does not
// hold memory.
func TestQueuedWorkHoldsItsMemory(t *testing.T) {
	devices := openSome(t, 2)
	o, from := devices[0], devices[1]
	addr, there := allocate(t, o, 4096), allocate(t, from, 4096)
	host, _ := hostBuffer(t, 4096)
	s := newQueue(t, o)
	b := holdUp(t, s)
	require.NoError(t, s.Copy(addr, addr+64, 64))
	require.NoError(t, s.CopyFromHost(addr, host, 64))
	require.NoError(t, s.CopyToHost(host, addr, 64))
	require.NoError(t, s.Fill(addr, device.Pattern{WidthBytes: 1}, 64))
	require.NoError(t, s.Prefetch("test", addr, 64))
	require.NoError(t, s.CopyFrom("test", addr, from.memory, there, 64))
	held := func() []int64 { return []int64{o.memory.uses.Load(), from.memory.uses.Load()} }
	require.Equal(t, []int64{7, 1}, held())
	for _, err := range []error{
		s.Copy(addr, 1, 64), s.Copy(1, addr, 64), s.CopyFromHost(addr, 0, 64), s.CopyToHost(0, addr, 64),
		s.CopyFrom("test", addr, from.memory, addr, 64),
		s.Fill(addr, device.Pattern{WidthBytes: 3}, 3), s.Prefetch("test", 1, 1),
	} {
		require.Error(t, err)
	}
	require.Equal(t, []int64{7, 1}, held(), "a rejected call holds no reference")
	b.open()
	require.NoError(t, s.Synchronize(device.Forever))
	require.Equal(t, []int64{0, 0}, held())
	require.EqualValues(t, 1, o.memory.populated.Load())
}

// A stream without any accepted work has no worker.
func TestRejectedWorkStartsNoWorker(t *testing.T) {
	o := openOne(t)
	s := newQueue(t, o)
	require.Error(t, s.Copy(1, 1, 1))
	requireCode(t, device.CodeNullPointer, s.HostFunction(nil))
	requireCode(t, device.CodeUnsupported, s.WaitEvent((*event)(nil)))
	require.Nil(t, s.worker)
	require.Zero(t, s.submitted.Load())
}

// Only the device that created a stream accepts it.
func TestAStreamBelongsToOneDevice(t *testing.T) {
	devices := openSome(t, 2)
	s := newQueue(t, devices[0])
	found, err := devices[0].Of("test", s)
	require.NoError(t, err)
	require.Same(t, s, found)
	for _, wrong := range []device.Stream{nil, (*Stream)(nil), devices[1].DefaultStream(), struct{ device.Stream }{}} {
		_, err := devices[0].Of("test", wrong)
		requireCode(t, device.CodeInvalidArgument, err, "not a stream of this device")
	}
	require.False(t, slices.Contains(devices[1].list(), s))
}
