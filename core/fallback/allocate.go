package fallback

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
)

// TagMax is the longest tag, in bytes.
const TagMax = 63

// Place is where a buffer may be made.
type Place int32

// The places of the C ABI.
const (
	// OnEither is the device or, when that has no room, the host.
	OnEither Place = 0
	// OnGPU forbids to fall back.
	OnGPU Place = 1
	// OnCPU makes the buffer on the host, which is no falling back.
	OnCPU Place = 2
)

// Request is a buffer as asked for.
type Request struct {
	Shape
	// Tag is for the tracker, at most TagMax bytes.
	Tag string
	// Movable lets the manager bring the buffer to the device by itself, should it
	// fall back, while nobody has pinned it.
	Movable bool
	Place   Place
	// Stream of the device uses the buffer first; nil: the default one.
	Stream device.Stream
}

// Buffer is a buffer of a manager. It is ended by Free.
type Buffer struct {
	*FallbackBuffer[Lease[device.Addr], pool.Block]
	manager *Manager
	movable bool
	// displaced says that the buffer fell back and has not been moved since. It is
	// guarded by Manager.mu.
	displaced bool
}

// Alloc makes a buffer, on the device or, when that has no room and falling back
// is allowed, on the host. What is in it is not defined. A failed call leaves all
// else as it was. Errors: CodeInvalidSize for no elements, CodeInvalidArgument for a
// type, place or tag that is none, CodeOverflow, CodeOutOfMemory when no side that
// may be used has room, CodeInvalidState for the host with a manager that does not
// fall back, those of the devices.
func (m *Manager) Alloc(r Request) (*Buffer, error) {
	const op = "fallback.alloc"
	bytes, err := r.check(op)
	if err != nil {
		return nil, on(err, m.gpu.engine)
	}
	if err := m.begin(op); err != nil {
		return nil, err
	}
	defer m.end()
	b := &Buffer{manager: m, movable: r.Movable}
	if r.Place == OnCPU {
		err = m.makeOnCPU(b, r.Shape, bytes)
	} else {
		err = m.make(b, r, bytes)
	}
	if err != nil {
		return nil, err
	}
	if err := m.track(b, r.Tag); err != nil {
		m.note("a buffer that could not be tracked", b.FallbackBuffer.Close())
		return nil, err
	}
	m.enter(b)
	return b, nil
}

// make makes the storage of a buffer on the device or, if it may be, on the host.
func (m *Manager) make(b *Buffer, r Request, bytes uint64) error {
	lease, err := m.gpu.Alloc(bytes, r.Stream, Use{})
	if err == nil {
		b.FallbackBuffer, err = NewGPUBuffer(m.sides(), r.Shape, lease)
		return err
	}
	if !noRoom(err) || m.cpu == nil || r.Place == OnGPU {
		return err
	}
	if failure := m.makeOnCPU(b, r.Shape, bytes); failure != nil {
		if noRoom(failure) {
			return device.Errorf(device.CodeOutOfMemory, "fallback.alloc",
				"%d bytes: neither the device nor the host %v has room: %w; %v", bytes, m.host.ID(), err, failure).On(m.gpu.engine.ID())
		}
		return failure
	}
	b.displaced = true
	m.gpu.free.RecordCPUFallback()
	return nil
}

// makeOnCPU makes the storage of a buffer on the host.
func (m *Manager) makeOnCPU(b *Buffer, s Shape, bytes uint64) error {
	block, err := cpuSide{m}.Alloc(bytes)
	if err != nil {
		return err
	}
	b.FallbackBuffer, err = NewCPUBuffer(m.sides(), s, block)
	return err
}

// track enters a new buffer with the tracker, if there is one.
func (m *Manager) track(b *Buffer, tag string) error {
	if m.tracker == nil {
		return nil
	}
	extent := Extent{SizeBytes: b.SizeBytes(), NumElements: b.Len()}
	return m.tracker.Track(NewBufferMetadata(b.ID(), extent, m.locationOf(b.Side())).WithTag(tag))
}

func (r Request) check(op string) (uint64, error) {
	bytes, err := r.Bytes()
	if err != nil {
		return 0, err
	}
	if r.Len == 0 {
		return 0, device.Errorf(device.CodeInvalidSize, op, "len is 0")
	}
	if len(r.Tag) > TagMax {
		return 0, device.Errorf(device.CodeInvalidArgument, op, "tag %.80q has %d bytes, more than %d", r.Tag, len(r.Tag), TagMax)
	}
	if r.Place < OnEither || r.Place > OnCPU {
		return 0, device.Errorf(device.CodeInvalidArgument, op, "place %d is none of 0 to 2", int32(r.Place))
	}
	return bytes, nil
}

func (m *Manager) enter(b *Buffer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live[b.ID()] = b
	m.active.Add(1)
	if b.displaced && b.movable {
		m.displaced.Add(1)
	}
}

// settle takes a buffer from those that are brought back. The caller holds mu.
func (m *Manager) settle(b *Buffer) {
	if b.displaced && b.movable {
		m.displaced.Add(-1)
	}
	b.displaced = false
}

// note reports a failure that the caller can do nothing about.
func (m *Manager) note(what string, err error) {
	if err != nil {
		m.gpu.engine.Log(engine.Warning, what+": "+err.Error())
	}
}
