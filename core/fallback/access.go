package fallback

import (
	"ferrum_mem/core/device"
)

// Addr returns the address of the buffer on its side: an address of the device, or one
// in the process. It is valid until the buffer moves. It returns CodeInvalidState for
// an ended buffer.
func (b *Buffer) Addr() (device.Addr, Side, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return 0, b.side, on(b.goneError("fallback.addr"), b.manager.gpu.engine)
	}
	return b.addrLocked(), b.side, nil
}

// addrLocked returns the address of the buffer. The caller holds b.mu.
func (b *Buffer) addrLocked() device.Addr {
	if b.side == CPU {
		return b.cpu.Addr
	}
	return b.gpu.Buffer
}

// HasEnded reports whether the buffer has ended, or its manager has ended or is ending.
func (b *Buffer) HasEnded() bool { return b.FallbackBuffer.HasEnded() || b.manager.HasEnded() }

// Owner returns the manager of the buffer.
func (b *Buffer) Owner() *Manager { return b.manager }

// Movable reports whether the manager may move the buffer to the device by itself.
func (b *Buffer) Movable() bool { return b.movable }

// Location returns the side with its device.
func (b *Buffer) Location() BufferLocation { return b.manager.locationOf(b.Side()) }

// PinAddr pins the buffer and returns its address and side.
func (b *Buffer) PinAddr() (device.Addr, Side, error) {
	if err := b.Pin(); err != nil {
		return 0, b.Side(), on(err, b.manager.gpu.engine)
	}
	return b.Addr()
}

// Part is a range of a buffer's bytes.
type Part struct {
	OffsetBytes uint64
	SizeBytes   uint64
}

// Write copies bytes of the process's memory into the buffer, on whichever side it is,
// after the work queued on the device's default stream, and returns after the copy.
// Errors: CodeNullPointer, CodeInvalidSize for no bytes, CodeInvalidOffset for a part
// outside the buffer, those of the copy.
func (b *Buffer) Write(to Part, src device.HostAddr) error {
	return b.reach("fallback.write", to, src, func(s device.Stream, at device.Addr) error {
		return s.CopyFromHost(at, src, to.SizeBytes)
	})
}

// Read is Write in the other direction.
func (b *Buffer) Read(from Part, dst device.HostAddr) error {
	return b.reach("fallback.read", from, dst, func(s device.Stream, at device.Addr) error {
		return s.CopyToHost(dst, at, from.SizeBytes)
	})
}

// reach runs a copy between a part of the buffer and the process's memory. The buffer
// does not move during the copy.
func (b *Buffer) reach(op string, p Part, host device.HostAddr, queue func(device.Stream, device.Addr) error) error {
	m := b.manager
	switch {
	case host == 0:
		return device.Errorf(device.CodeNullPointer, op, "host address is NULL").On(m.gpu.engine.ID())
	case p.SizeBytes == 0:
		return device.Errorf(device.CodeInvalidSize, op, "size_bytes is 0").On(m.gpu.engine.ID())
	case p.OffsetBytes > b.bytes || p.SizeBytes > b.bytes-p.OffsetBytes:
		return device.Errorf(device.CodeInvalidOffset, op, "offset_bytes %d + size_bytes %d ends outside of %v of %v",
			p.OffsetBytes, p.SizeBytes, b.id, device.Size(b.bytes)).On(m.gpu.engine.ID())
	}
	if err := m.begin(op); err != nil {
		return err
	}
	defer m.end()
	return on(b.use(op, func() error {
		// The buffer does not move during the copy.
		b.mu.Lock()
		at, side := b.addrLocked(), b.side
		b.mu.Unlock()
		stream := m.gpu.engine.Device().DefaultStream()
		if side == CPU {
			stream = m.host.Device().DefaultStream()
		}
		_, err := run(stream, func(s device.Stream) error { return queue(s, at+device.Addr(p.OffsetBytes)) })
		return err
	}), m.gpu.engine)
}
