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
	// Manager and Device are handles. Device is the device where the buffer is.
	Manager, Device uint64
	Addr            device.Addr
	Pins            uint32
	Movable         bool
}

func (l *Library) insertBuffer(owner *FallbackManager, made *fallback.Buffer) (uint64, error) {
	entry := &FallbackBuffer{Buffer: made, owner: owner}
	handle, err := insert(l, l.registry.buffers, entry)
	if err != nil {
		if freeErr := made.Free(nil); freeErr != nil {
			l.log.printf(LogError, "%v: freeing a buffer without a handle: %v", owner.device.Engine.ID(), freeErr)
		}
		return 0, on(err, owner.device.Engine)
	}
	owner.note(handle)
	// If the manager was destroyed during the call, its destroy may have missed the
	// buffer.
	if _, gone := l.registry.fallbackManagers.Get(owner.id()); gone != nil {
		entry.forget()
		return 0, gone
	}
	return handle, nil
}

// Free frees the buffer after the work that is queued on the stream; 0: the default
// stream.
func (b *FallbackBuffer) Free(stream uint64) error {
	const op = "buffer.free"
	used, err := b.library.registry.streamOrDefault(op, stream, b.owner.device)
	if err != nil {
		return err
	}
	if !b.destroying.TryLock() {
		return b.beingEnded(op)
	}
	defer b.destroying.Unlock()
	if err := b.Buffer.Free(used); err != nil {
		return b.library.registry.callErrorOn(stream, err, b)
	}
	b.forget()
	return nil
}

// forget removes the handle of an ended buffer. The destroy of its manager may have
// removed it already, because it no longer waits for this buffer.
func (b *FallbackBuffer) forget() {
	_, _ = b.library.registry.buffers.Remove(b.id())
	b.owner.forget(b.id())
}

// beingEnded is the error of a call that would end a buffer which another call is
// ending.
func (b *FallbackBuffer) beingEnded(op string) error {
	return device.Errorf(device.CodeBusy, op, "buffer handle %#x: another call is ending the buffer", b.id()).
		On(b.owner.device.ID())
}

// Take ends the buffer on that side and passes its storage to the caller.
func (b *FallbackBuffer) Take(side fallback.Side) (device.Addr, error) {
	if !b.destroying.TryLock() {
		return 0, b.beingEnded("buffer.take")
	}
	defer b.destroying.Unlock()
	addr, err := b.Buffer.Take(side)
	if err != nil {
		return 0, CallError(err, b)
	}
	b.forget()
	return addr, nil
}

// Info describes the buffer.
func (b *FallbackBuffer) Info() (BufferInfo, error) {
	addr, side, err := b.Addr()
	if err != nil {
		return BufferInfo{}, err
	}
	info := BufferInfo{
		ID: b.ID(), Shape: fallback.Shape{DType: b.DType(), Len: b.Len()}, SizeBytes: b.SizeBytes(), Side: side,
		Manager: b.owner.handle.Load(), Device: b.owner.device.handle.Load(), Addr: addr, Pins: b.Pins(),
		Movable: b.Movable(),
	}
	if side == fallback.CPU {
		info.Device = b.owner.host.handle.Load()
	}
	return info, nil
}

// Address returns the address of the buffer on that side. It returns CodeInvalidState
// if the buffer is on the other side.
func (b *FallbackBuffer) Address(want fallback.Side) (device.Addr, error) {
	const op = "buffer.address"
	if err := want.Check(op); err != nil {
		return 0, err
	}
	addr, side, err := b.Addr()
	if err == nil && side != want {
		err = device.Errorf(device.CodeInvalidState, op, "%v is on the %v", b.ID(), side)
	}
	if err != nil {
		return 0, err
	}
	return addr, nil
}

// Move moves the buffer to a side.
func (b *FallbackBuffer) Move(to fallback.Side) error {
	switch to {
	case fallback.GPU:
		return b.ToGPU()
	case fallback.CPU:
		return b.ToCPU()
	default:
		return to.Check("buffer.move")
	}
}

// Write copies the process's memory into the buffer.
func (b *FallbackBuffer) Write(offsetBytes uint64, src device.HostAddr, sizeBytes uint64) error {
	return b.Buffer.Write(fallback.Part{OffsetBytes: offsetBytes, SizeBytes: sizeBytes}, src)
}

// Read copies the buffer into the process's memory.
func (b *FallbackBuffer) Read(offsetBytes uint64, dst device.HostAddr, sizeBytes uint64) error {
	return b.Buffer.Read(fallback.Part{OffsetBytes: offsetBytes, SizeBytes: sizeBytes}, dst)
}
