package fallback

import (
	"ferrum_mem/core/device"
)

// Addr is where the buffer is on its side: an address of the device, or one of the
// process's memory. It is good until the buffer moves. CodeInvalidState when it has
// ended.
func (b *Buffer) Addr() (device.Addr, Side, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return 0, b.side, on(b.goneError("fallback.addr"), b.manager.gpu.engine)
	}
	return b.addrLocked(), b.side, nil
}

// addrLocked is where the buffer is. The caller holds b.mu.
func (b *Buffer) addrLocked() device.Addr {
	if b.side == CPU {
		return b.cpu.Addr
	}
	return b.gpu.Buffer
}

// IsOver says that the buffer has ended, or that its manager has or is ending.
func (b *Buffer) IsOver() bool { return b.FallbackBuffer.IsOver() || b.manager.IsOver() }

// Owner is the manager of the buffer.
func (b *Buffer) Owner() *Manager { return b.manager }

// Movable says that the manager may bring the buffer to the device by itself.
func (b *Buffer) Movable() bool { return b.movable }

// Location is the side with its device.
func (b *Buffer) Location() BufferLocation { return b.manager.locationOf(b.Side()) }

// PinAddr is Pin with Addr.
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

// Write copies bytes of the process's memory into the buffer, wherever it is, after
// what the device's default stream has queued, and returns when they are there.
// Errors: CodeNullPointer, CodeInvalidSize for no bytes, CodeInvalidOffset for a part
// that leaves the buffer, those of the copy.
func (b *Buffer) Write(to Part, src device.HostAddr) error {
	return b.reach("fallback.write", to, src, func(s device.Stream, at device.Addr) error {
		return s.CopyFromHost(at, src, to.SizeBytes)
	})
}

// Read is Write the other way.
func (b *Buffer) Read(from Part, dst device.HostAddr) error {
	return b.reach("fallback.read", from, dst, func(s device.Stream, at device.Addr) error {
		return s.CopyToHost(dst, at, from.SizeBytes)
	})
}

// reach runs a copy between a part of the buffer and the process's memory. The
// buffer does not move meanwhile.
func (b *Buffer) reach(op string, p Part, host device.HostAddr, queue func(device.Stream, device.Addr) error) error {
	m := b.manager
	switch {
	case host == 0:
		return device.Errorf(device.CodeNullPointer, op, "host address is NULL").On(m.gpu.engine.ID())
	case p.SizeBytes == 0:
		return device.Errorf(device.CodeInvalidSize, op, "size_bytes is 0").On(m.gpu.engine.ID())
	case p.OffsetBytes > b.bytes || p.SizeBytes > b.bytes-p.OffsetBytes:
		return device.Errorf(device.CodeInvalidOffset, op, "offset_bytes %d + size_bytes %d leaves %v of %d bytes",
			p.OffsetBytes, p.SizeBytes, b.id, b.bytes).On(m.gpu.engine.ID())
	}
	if err := m.begin(op); err != nil {
		return err
	}
	defer m.end()
	return on(b.use(op, func() error {
		// It does not move meanwhile.
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
