package streams

import (
	"maps"
	"slices"
	"sync"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/gate"
)

// Held is memory that a queued operation holds until it has run.
type Held interface {
	Release()
	// Check returns an error if a range of the memory is not mapped any more.
	Check(op string, address, size uint64) error
}

// Memory is the memory that the work of streams uses.
type Memory interface {
	// Acquire finds the owner of a whole range and counts an operation in flight on it.
	Acquire(op, what string, addr device.Addr, size uint64, need device.Access) (Held, error)
	// Populate allocates the memory of a range.
	Populate(address, size uint64)
}

// Set holds the streams of one open device.
type Set struct {
	id     device.ID
	memory Memory
	gate   *gate.Gate
	// start is the zero point of the clock for event times.
	start time.Time
	// first is the default stream.
	first *Stream

	mu sync.Mutex
	// open are the open streams, including the first.
	open map[*Stream]struct{}
	// opened numbers the streams for the names of their workers.
	opened int
}

// New returns a set with only the default stream, which is closed with the device.
func New(id device.ID, memory Memory, gate *gate.Gate, start time.Time) *Set {
	t := &Set{id: id, memory: memory, gate: gate, start: start}
	t.first = newStream(t, 0)
	t.open = map[*Stream]struct{}{t.first: {}}
	return t
}

func (t *Set) errorf(code device.Code, op, format string, args ...any) error {
	return device.Errorf(code, op, format, args...).On(t.id)
}

// DefaultStream returns the stream that is closed with the device.
func (t *Set) DefaultStream() device.Stream { return t.first }

// NewStream creates a stream whose worker starts with its first operation.
func (t *Set) NewStream() (device.Stream, error) {
	if err := t.gate.Add("host.new_stream", gate.Streams, 1); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.opened++
	s := newStream(t, t.opened)
	t.open[s] = struct{}{}
	return s, nil
}

// forget removes a stopped stream from the list.
func (t *Set) forget(s *Stream) {
	t.mu.Lock()
	delete(t.open, s)
	t.mu.Unlock()
	t.gate.Remove(gate.Streams, 1)
}

// Of returns the stream that a caller names. It must belong to this set.
func (t *Set) Of(op string, named device.Stream) (*Stream, error) {
	if s, ok := named.(*Stream); ok && s != nil && s.set == t {
		return s, nil
	}
	return nil, t.errorf(device.CodeInvalidArgument, op, "stream: not a stream of this device")
}

// Synchronize waits for the work that is queued on each stream now. It does not report
// failures of queued work; Synchronize of the streams does. From a host function of one of
// the streams it returns CodeInvalidState on Linux. On other systems it waits for itself.
func (t *Set) Synchronize(timeout time.Duration) error {
	const op = "host.synchronize_device"
	if err := t.gate.Check(op); err != nil {
		return err
	}
	wait, err := newDeadline(op, timeout)
	if err != nil {
		return device.About(t.id, err)
	}
	defer wait.stop()
	for _, s := range t.list() {
		if err := s.await(s.submitted.Load(), wait); err != nil {
			return err
		}
	}
	return nil
}

func (t *Set) list() []*Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.open))
}

// CloseDefault closes the device, and closes the default stream after draining it.
func (t *Set) CloseDefault(op string) error {
	if t.first.insideHostFunction() {
		return t.errorf(device.CodeInvalidState, op, "called from a host function of the default stream")
	}
	if err := t.gate.Close(op); err != nil {
		return err
	}
	return t.first.shut(op)
}
