package fallback

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
)

// TagMax is the longest tag, in bytes.
const TagMax = 63

// Place selects the side where a buffer may be allocated.
type Place int32

// The places of the C ABI.
const (
	// OnEither selects the device or, if it has no memory, the host.
	OnEither Place = 0
	// OnGPU forbids the fallback.
	OnGPU Place = 1
	// OnCPU allocates the buffer on the host; this does not count as a fallback.
	OnCPU Place = 2
)

// Request is the request for a buffer.
type Request struct {
	Shape
	// Tag is for the tracker, at most TagMax bytes.
	Tag string
	// Movable lets the manager move the buffer to the device by itself after a
	// fallback, while it is not pinned.
	Movable bool
	Place   Place
	// Stream of the device uses the buffer first; nil: the default stream.
	Stream device.Stream
}

// Buffer is a buffer of a manager. Free ends it.
type Buffer struct {
	*FallbackBuffer[Lease[device.Addr], pool.Block]
	manager *Manager
	movable bool
	// displaced states that the buffer fell back and has not been moved since.
	// Manager.mu guards it.
	displaced bool
}

// Alloc allocates a buffer on the device or, if the device has no memory and the
// fallback is allowed, on the host. Its initial contents are not defined. A failed call
// changes nothing else. Errors: CodeInvalidSize for no elements; CodeInvalidArgument
// for an unknown type or place or a tag that is too long; CodeOverflow; CodeOutOfMemory
// when no permitted side has memory; CodeInvalidState for the host with a manager
// without fallback; those of the devices.
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
		m.note("closing a buffer that could not be tracked", b.FallbackBuffer.Close())
		return nil, err
	}
	m.enter(b)
	return b, nil
}

// make allocates the storage of a buffer on the device or, if permitted, on the host.
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
				"%v: neither the device nor the host %v has enough free memory: %w; %v", device.Size(bytes), m.host.ID(), err, failure).On(m.gpu.engine.ID())
		}
		return failure
	}
	b.displaced = true
	m.gpu.free.RecordCPUFallback()
	return nil
}

// makeOnCPU allocates the storage of a buffer on the host.
func (m *Manager) makeOnCPU(b *Buffer, s Shape, bytes uint64) error {
	block, err := cpuSide{m}.Alloc(bytes)
	if err != nil {
		return err
	}
	b.FallbackBuffer, err = NewCPUBuffer(m.sides(), s, block)
	return err
}

// track adds a new buffer to the tracker, if there is one.
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
		return 0, device.Errorf(device.CodeInvalidArgument, op, "tag %.80q has %v, more than %d", r.Tag, device.Size(len(r.Tag)), TagMax)
	}
	if r.Place < OnEither || r.Place > OnCPU {
		return 0, device.Errorf(device.CodeInvalidArgument, op, "place %d is not from 0 to 2", int32(r.Place))
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

// settle removes a buffer from those that wait to return to the device. The caller
// holds mu.
func (m *Manager) settle(b *Buffer) {
	if b.displaced && b.movable {
		m.displaced.Add(-1)
	}
	b.displaced = false
}

// note logs a failure that the caller cannot handle.
func (m *Manager) note(what string, err error) {
	if err != nil {
		m.gpu.engine.Log(engine.Warning, what+": "+err.Error())
	}
}
