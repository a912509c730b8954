package unified

import (
	"cmp"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
)

// TagMax is the longest tag, in bytes.
const TagMax = 63

// Request is a buffer as asked for.
type Request struct {
	Shape
	// Tag is for the tracker, at most TagMax bytes.
	Tag string
	// Movable lets the manager bring the buffer to the device by itself, should it
	// fall back, while nobody has pinned it.
	Movable bool
	// OnGPU forbids to fall back.
	OnGPU bool
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

// Allocate makes a buffer, on the device or, when that has no room and falling back
// is allowed, on the host. A failed call leaves all else as it was. Errors:
// CodeInvalidSize for no elements, CodeInvalidArgument for a type or tag that is
// none, CodeOverflow, CodeOutOfMemory when no side has room, those of the devices.
func (m *Manager) Allocate(r Request) (*Buffer, error) {
	const op = "unified.allocate"
	bytes, err := r.check(op)
	if err != nil {
		return nil, on(err, m.gpu.engine)
	}
	if err := m.begin(op); err != nil {
		return nil, err
	}
	defer m.leave()
	b := &Buffer{manager: m, movable: r.Movable}
	lease, err := m.gpu.Allocate(bytes, r.Stream, Use{})
	switch {
	case err == nil:
		b.FallbackBuffer, err = NewGPUBuffer(m.sides(), r.Shape, lease)
	case noRoom(err) && m.cpu != nil && !r.OnGPU:
		err = m.fallBack(b, r, bytes, err)
	}
	if err != nil {
		return nil, err
	}
	if m.tracker != nil {
		meta := NewBufferMetadata(b.ID(), Extent{bytes, r.Len}, m.locationOf(b.Side())).WithTag(r.Tag)
		if err := m.tracker.Track(meta); err != nil {
			m.note("a buffer that could not be tracked", b.Close())
			return nil, err
		}
	}
	m.enter(b)
	return b, nil
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
	return bytes, nil
}

// fallBack makes the storage of a buffer on the host.
func (m *Manager) fallBack(b *Buffer, r Request, bytes uint64, why error) error {
	block, err := cpuSide{m}.Allocate(bytes)
	if noRoom(err) {
		return device.Errorf(device.CodeOutOfMemory, "unified.allocate",
			"%d bytes: neither the device nor the host %v has room: %w; %v", bytes, m.host.ID(), why, err).On(m.gpu.engine.ID())
	}
	if err != nil {
		return err
	}
	if b.FallbackBuffer, err = NewCPUBuffer(m.sides(), r.Shape, block); err != nil {
		m.note("memory of a buffer that could not be made", cpuSide{m}.Release(block))
		return err
	}
	b.displaced = true
	m.gpu.free.RecordCPUFallback()
	return nil
}

func (m *Manager) enter(b *Buffer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live[b.ID()] = b
	if b.displaced && b.movable {
		m.displaced.Add(1)
	}
}

// settle takes a buffer from those that are brought back. The caller holds mu.
func (m *Manager) settleLocked(b *Buffer) {
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

// Free ends a buffer after what is queued on the stream (nil: the default one). A
// movable buffer that fell back may come to the device then. Errors, after which the
// buffer is as it was: CodeBusy while it is pinned, CodeInvalidState when it is freed
// or its storage was taken, those of the stream.
func (b *Buffer) Free(stream device.Stream) error {
	const op = "unified.free"
	m := b.manager
	if err := m.begin(op); err != nil {
		return err
	}
	defer m.leave()
	if err := b.endOn(op, stream); err != nil {
		return on(err, m.gpu.engine)
	}
	if m.tracker != nil {
		m.tracker.Untrack(b.ID())
	}
	m.mu.Lock()
	m.settleLocked(b)
	delete(m.live, b.ID())
	m.mu.Unlock()
	if m.displaced.Load() > 0 && m.returning.TryLock() {
		_, err := m.bringBack(func(b *Buffer) bool { return b.movable })
		m.returning.Unlock()
		if !noRoom(err) {
			m.note("a buffer could not be brought back to the device", err)
		}
	}
	return nil
}

// endOn releases the storage as the streams of its side allow.
func (b *Buffer) endOn(op string, stream device.Stream) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.movableLocked(op); err != nil {
		return err
	}
	if b.side == CPU {
		if err := b.sides.CPU.Release(b.cpu); err != nil {
			return err
		}
	} else if err := b.manager.gpu.Free(b.gpu.Buffer, stream); err != nil {
		return err
	}
	b.gone = true
	b.forgetLocked()
	return nil
}

// ToCPU moves the buffer to the host, after what the device's default stream has
// queued. It stays there until ToGPU. Errors as for FallbackBuffer.ToCPU;
// CodeInvalidState for a manager that does not fall back.
func (b *Buffer) ToCPU() error { return b.move("unified.to_cpu", b.FallbackBuffer.ToCPU) }

// ToGPU moves the buffer to the device; CodeOutOfMemory when that has no room.
func (b *Buffer) ToGPU() error { return b.move("unified.to_gpu", b.FallbackBuffer.ToGPU) }

func (b *Buffer) move(op string, move func() error) error {
	m := b.manager
	if err := m.begin(op); err != nil {
		return err
	}
	defer m.leave()
	if err := move(); err != nil {
		return on(err, m.gpu.engine)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settleLocked(b)
	return nil
}

// Return brings the buffers that fell back to the device, the oldest first, until it
// has no room for the next; pinned ones stay. It is not for a thread that holds on to
// the address of a buffer that it has not pinned. Errors, with how many came: those
// of a move but for CodeOutOfMemory.
func (m *Manager) Return() (moved int, err error) {
	if err := m.begin("unified.return"); err != nil {
		return 0, err
	}
	defer m.leave()
	m.returning.Lock()
	defer m.returning.Unlock()
	moved, err = m.bringBack(func(*Buffer) bool { return true })
	if noRoom(err) {
		return moved, nil
	}
	return moved, err
}

// bringBack moves displaced buffers of which may is true. The caller holds returning.
func (m *Manager) bringBack(may func(*Buffer) bool) (moved int, err error) {
	m.mu.Lock()
	var waiting []*Buffer
	for _, b := range m.live {
		if b.displaced && may(b) {
			waiting = append(waiting, b)
		}
	}
	m.mu.Unlock()
	slices.SortFunc(waiting, func(a, b *Buffer) int { return cmp.Compare(a.ID(), b.ID()) })
	for _, b := range waiting {
		err := b.FallbackBuffer.ToGPU()
		switch device.CodeOf(err) {
		case device.CodeOK:
			moved++
			m.mu.Lock()
			m.settleLocked(b)
			m.mu.Unlock()
		case device.CodeBusy, device.CodeInvalidState:
			// It is in use, or gone.
		default:
			return moved, err
		}
	}
	return moved, nil
}
