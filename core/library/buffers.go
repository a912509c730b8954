package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
)

// BufferInfo describes a buffer.
type BufferInfo struct {
	ID fallback.BufferID
	fallback.Shape
	SizeBytes uint64
	Side      fallback.Side
	// Manager and Device are handles, the latter of where the buffer is.
	Manager, Device uint64
	Addr            device.Addr
	Pins            uint32
	Movable         bool
}

func (l *Library) insertBuffer(id uint64, owner *openFallbackManager, made *fallback.Buffer) (uint64, error) {
	entry := &openBuffer{buffer: made, owner: owner}
	handle, err := insert(l.buffers, entry)
	if err != nil {
		if freeErr := made.Free(nil); freeErr != nil {
			l.log.printf(LogError, "%v: freeing a buffer that got no handle: %v", owner.device.engine.ID(), freeErr)
		}
		return 0, on(err, owner.device.engine)
	}
	owner.note(handle)
	// A manager that was destroyed meanwhile may have missed it.
	if _, gone := l.fallbackManagers.Get(id); gone != nil {
		l.forgetBuffer(handle, entry)
		return 0, gone
	}
	return handle, nil
}

// FallbackBufferFree ends a buffer after what is queued on the stream; 0: the default one.
func (l *Library) FallbackBufferFree(id, stream uint64) error {
	const op = "buffer.free"
	entry, err := find(l, l.buffers, op, id)
	if err != nil {
		return err
	}
	used, err := l.streamOrDefault(op, stream, entry.owner.device)
	if err != nil {
		return err
	}
	if !entry.destroying.TryLock() {
		return l.beingEnded(op, id, entry)
	}
	defer entry.destroying.Unlock()
	if err := entry.buffer.Free(used); err != nil {
		return l.lateOn(stream, err, entry)
	}
	l.forgetBuffer(id, entry)
	return nil
}

// forgetBuffer takes the handle of a buffer away that has ended. The end of its manager,
// which the buffer held up no more, may have done so.
func (l *Library) forgetBuffer(id uint64, entry *openBuffer) {
	_, _ = l.buffers.Remove(id)
	entry.owner.forget(id)
}

// beingEnded is what a call hears that would end a buffer which another call ends.
func (l *Library) beingEnded(op string, id uint64, entry *openBuffer) error {
	return device.Errorf(device.CodeBusy, op, "buffer handle %#x: another call is ending the buffer", id).
		On(entry.owner.device.engine.ID())
}

// FallbackBufferTake ends a buffer on that side and gives its storage to the caller.
func (l *Library) FallbackBufferTake(id uint64, side fallback.Side) (device.Addr, error) {
	const op = "buffer.take"
	entry, err := find(l, l.buffers, op, id)
	if err != nil {
		return 0, err
	}
	if !entry.destroying.TryLock() {
		return 0, l.beingEnded(op, id, entry)
	}
	defer entry.destroying.Unlock()
	addr, err := entry.buffer.Take(side)
	if err != nil {
		return 0, late(err, entry)
	}
	l.forgetBuffer(id, entry)
	return addr, nil
}

// FallbackBufferGetInfo describes a buffer.
func (l *Library) FallbackBufferGetInfo(id uint64) (BufferInfo, error) {
	entry, err := find(l, l.buffers, "buffer.info", id)
	if err != nil {
		return BufferInfo{}, err
	}
	b := entry.buffer
	addr, side, err := b.Addr()
	if err != nil {
		return BufferInfo{}, late(err, entry)
	}
	info := BufferInfo{
		ID: b.ID(), Shape: fallback.Shape{DType: b.DType(), Len: b.Len()}, SizeBytes: b.SizeBytes(), Side: side,
		Manager: entry.owner.handle.Load(), Device: entry.owner.device.handle.Load(), Addr: addr, Pins: b.Pins(),
		Movable: b.Movable(),
	}
	if side == fallback.CPU {
		info.Device = entry.owner.host.handle.Load()
	}
	return info, nil
}

// FallbackBufferGetAddress is where a buffer is on that side; CodeInvalidState when it is on
// the other.
func (l *Library) FallbackBufferGetAddress(id uint64, want fallback.Side) (device.Addr, error) {
	const op = "buffer.address"
	entry, err := find(l, l.buffers, op, id)
	if err != nil {
		return 0, err
	}
	if err := want.Check(op); err != nil {
		return 0, err
	}
	addr, side, err := entry.buffer.Addr()
	if err == nil && side != want {
		err = device.Errorf(device.CodeInvalidState, op, "%v is on the %v", entry.buffer.ID(), side)
	}
	if err != nil {
		return 0, late(err, entry)
	}
	return addr, nil
}

// FallbackBufferMove moves a buffer to a side.
func (l *Library) FallbackBufferMove(id uint64, to fallback.Side) error {
	const op = "buffer.move"
	entry, err := find(l, l.buffers, op, id)
	if err != nil {
		return err
	}
	switch to {
	case fallback.GPU:
		err = entry.buffer.ToGPU()
	case fallback.CPU:
		err = entry.buffer.ToCPU()
	default:
		err = to.Check(op)
	}
	return late(err, entry)
}

// FallbackBufferPin keeps a buffer where it is, and says where that is.
func (l *Library) FallbackBufferPin(id uint64) (device.Addr, fallback.Side, error) {
	entry, err := find(l, l.buffers, "buffer.pin", id)
	if err != nil {
		return 0, 0, err
	}
	addr, side, err := entry.buffer.PinAddr()
	return addr, side, late(err, entry)
}

// FallbackBufferUnpin ends one BufferPin.
func (l *Library) FallbackBufferUnpin(id uint64) error {
	return do(l, l.buffers, "buffer.unpin", id, func(b *openBuffer) error { return b.buffer.Unpin() })
}

// FallbackBufferWrite copies the process's memory into a buffer.
func (l *Library) FallbackBufferWrite(id, offsetBytes uint64, src device.HostAddr, sizeBytes uint64) error {
	to := fallback.Part{OffsetBytes: offsetBytes, SizeBytes: sizeBytes}
	return do(l, l.buffers, "buffer.write", id, func(b *openBuffer) error { return b.buffer.Write(to, src) })
}

// FallbackBufferRead copies a buffer into the process's memory.
func (l *Library) FallbackBufferRead(id, offsetBytes uint64, dst device.HostAddr, sizeBytes uint64) error {
	from := fallback.Part{OffsetBytes: offsetBytes, SizeBytes: sizeBytes}
	return do(l, l.buffers, "buffer.read", id, func(b *openBuffer) error { return b.buffer.Read(from, dst) })
}
