package fallback

import (
	"cmp"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
)

// Free ends a buffer after the work that is queued on the stream (nil: the default
// one). A movable buffer that fell back may then move to the device. Errors, after
// which the buffer does not change: CodeBusy while it is pinned, CodeInvalidState if it
// has ended, those of the stream.
func (b *Buffer) Free(stream device.Stream) error {
	const op = "fallback.free"
	m := b.manager
	if err := m.begin(op); err != nil {
		return err
	}
	defer m.end()
	err := b.closeBy(op, func(lease Lease[device.Addr]) error { return m.gpu.Free(lease.Buffer, stream) })
	if err != nil {
		return on(err, m.gpu.engine)
	}
	m.forget(b)
	m.bringBackSome()
	return nil
}

// forget removes a buffer without storage from the counters.
func (m *Manager) forget(b *Buffer) {
	if m.tracker != nil {
		m.tracker.Untrack(b.ID())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settle(b)
	delete(m.live, b.ID())
	minus(&m.active, 1)
}

// Take ends a buffer on that side and passes its storage to the caller, who frees it
// with Release or makes another buffer of it with Adopt. Errors, after which the buffer
// does not change: CodeBusy while it is pinned, CodeInvalidState if it is on the other
// side or has ended.
func (b *Buffer) Take(side Side) (device.Addr, error) {
	const op = "fallback.take"
	m := b.manager
	if err := m.begin(op); err != nil {
		return 0, err
	}
	defer m.end()
	if err := side.Check(op); err != nil {
		return 0, on(err, m.gpu.engine)
	}
	if err := b.claimOn(side, op); err != nil {
		return 0, on(err, m.gpu.engine)
	}
	taken := place{side, b.gpu.Buffer}
	if side == CPU {
		taken.addr = b.cpu.Addr
	}
	m.mu.Lock()
	m.taken[taken] = storage{gpu: b.gpu, cpu: b.cpu}
	m.mu.Unlock()
	b.endClaim(true)
	m.forget(b)
	return taken.addr, nil
}

// Taken is storage that Take has returned.
type Taken struct {
	Side Side
	Addr device.Addr
}

// Release frees storage that Take has returned, after the work that is queued on the
// stream (nil: the default one). Errors, after which the caller still has the storage:
// CodeInvalidArgument for an unknown side, CodeInvalidAddress for an address without
// such storage, those of the stream.
func (m *Manager) Release(t Taken, stream device.Stream) error {
	const op = "fallback.release"
	if err := m.begin(op); err != nil {
		return err
	}
	defer m.end()
	kept, err := m.takeBack(op, t)
	if err != nil {
		return err
	}
	if t.Side == CPU {
		err = cpuSide{m}.Release(kept.cpu)
	} else {
		err = m.gpu.Free(kept.gpu.Buffer, stream)
	}
	if err != nil {
		m.mu.Lock()
		m.taken[place{t.Side, t.Addr}] = kept
		m.mu.Unlock()
		return on(err, m.gpu.engine)
	}
	m.bringBackSome()
	return nil
}

// Adopt makes a buffer of storage that Take has returned. It ignores the stream and the
// place of the request. Errors, after which the caller still has the storage:
// CodeInvalidArgument for an unknown side, CodeInvalidAddress for an address without
// such storage, CodeInvalidSize for storage that is smaller than the elements, and
// those of Alloc for the request.
func (m *Manager) Adopt(t Taken, r Request) (*Buffer, error) {
	const op = "fallback.adopt"
	if _, err := r.check(op); err != nil {
		return nil, on(err, m.gpu.engine)
	}
	if err := m.begin(op); err != nil {
		return nil, err
	}
	defer m.end()
	kept, err := m.takeBack(op, t)
	if err != nil {
		return nil, err
	}
	b := &Buffer{manager: m, movable: r.Movable}
	if t.Side == CPU {
		b.FallbackBuffer, err = NewCPUBuffer(m.sides(), r.Shape, kept.cpu)
	} else {
		b.FallbackBuffer, err = NewGPUBuffer(m.sides(), r.Shape, kept.gpu)
	}
	if err == nil {
		err = m.track(b, r.Tag)
	}
	if err != nil {
		m.mu.Lock()
		m.taken[place{t.Side, t.Addr}] = kept
		m.mu.Unlock()
		return nil, on(err, m.gpu.engine)
	}
	m.enter(b)
	return b, nil
}

// takeBack removes storage from the list of the caller's storage.
func (m *Manager) takeBack(op string, t Taken) (storage, error) {
	if err := t.Side.Check(op); err != nil {
		return storage{}, on(err, m.gpu.engine)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := place{t.Side, t.Addr}
	kept, ok := m.taken[at]
	if !ok {
		return storage{}, device.Errorf(device.CodeInvalidAddress, op,
			"address %#x on side %d is not storage that was detached from a buffer", uint64(t.Addr), int32(t.Side)).On(m.gpu.engine.ID())
	}
	delete(m.taken, at)
	return kept, nil
}

// Return moves the buffers that fell back to the device, the oldest first, until the
// device has no memory for the next. Pinned buffers stay, and nothing is reclaimed for
// it. A thread that uses the address of a buffer without pinning it must not call
// Return. While another thread runs Return, it moves none. Errors, with the number of
// moved buffers: those of the devices.
func (m *Manager) Return() (moved int, err error) {
	if err := m.begin("fallback.return"); err != nil {
		return 0, err
	}
	defer m.end()
	if !m.returning.TryLock() {
		return 0, nil
	}
	defer m.returning.Unlock()
	moved, err = m.bringBack(func(*Buffer) bool { return true })
	return moved, on(err, m.gpu.engine)
}

// bringBackSome is Return for the movable buffers, after memory was freed. It waits for
// a copy, so it does nothing on a thread that may not wait.
func (m *Manager) bringBackSome() {
	if m.displaced.Load() <= 0 || !m.gpu.engine.MayWait() || !m.returning.TryLock() {
		return
	}
	defer m.returning.Unlock()
	_, err := m.bringBack(func(b *Buffer) bool { return b.movable })
	m.note("a buffer could not be moved back to the device", err)
}

// bringBack moves displaced buffers that may accepts. The caller holds returning.
func (m *Manager) bringBack(may func(*Buffer) bool) (moved int, err error) {
	m.mu.Lock()
	var waiting []*Buffer
	for _, b := range m.live {
		if b.displaced && may(b) {
			waiting = append(waiting, b)
		}
	}
	m.mu.Unlock()
	sorting.By(waiting, func(a, b *Buffer) int { return cmp.Compare(a.ID(), b.ID()) })
	for _, b := range waiting {
		if b.Pins() > 0 {
			continue
		}
		if room, err := m.makeRoom(b.SizeBytes()); err != nil || !room {
			return moved, err
		}
		err := b.FallbackBuffer.ToGPU()
		switch device.CodeOf(err) {
		case device.CodeOK:
			moved++
			m.mu.Lock()
			m.settle(b)
			m.mu.Unlock()
		case device.CodeBusy, device.CodeInvalidState:
			// The buffer is in use, or has ended.
		case device.CodeOutOfMemory:
			// Another thread has taken the memory first.
			return moved, nil
		default:
			return moved, err
		}
	}
	return moved, nil
}

// makeRoom reports whether the device has memory, if necessary after emptying the
// buckets.
func (m *Manager) makeRoom(bytes uint64) (bool, error) {
	room, err := m.gpu.hasRoom(bytes)
	if room || err != nil || m.gpu.free.PooledCount() == 0 {
		return room, err
	}
	if err := m.gpu.free.Clear(); err != nil {
		return false, err
	}
	return m.gpu.hasRoom(bytes)
}

// ToCPU moves the buffer to the host, after the work queued on the device's default
// stream. It stays there until ToGPU. Errors as for FallbackBuffer.ToCPU;
// CodeInvalidState for a manager without fallback.
func (b *Buffer) ToCPU() error { return b.move("fallback.to_cpu", b.FallbackBuffer.ToCPU) }

// ToGPU moves the buffer to the device. It returns CodeOutOfMemory if the device has no
// memory.
func (b *Buffer) ToGPU() error { return b.move("fallback.to_gpu", b.FallbackBuffer.ToGPU) }

func (b *Buffer) move(op string, move func() error) error {
	m := b.manager
	if err := m.begin(op); err != nil {
		return err
	}
	defer m.end()
	if err := move(); err != nil {
		return on(err, m.gpu.engine)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settle(b)
	return nil
}
