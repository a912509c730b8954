package manager

import (
	"errors"
	"maps"
	"slices"
	"sync/atomic"

	"ferrum_mem/core/device"
)

// link is the memory that two blocks of two devices share. It belongs to the manager of
// the first block, and returns to its pool when both blocks are freed.
type link struct {
	owner *Manager
	home  *home
	// addr is the address of the memory on the first device.
	addr device.Addr
	// first and second are the blocks in order of creation.
	first, second *block
	// at is the memory on the second device.
	at linkedRange

	// handles are set when both blocks have their handles.
	handles [2]atomic.Uint64
	// left counts the live blocks. The locks of both guard it.
	left int
}

// linkedRange is memory of another device, with its address on this device.
type linkedRange struct {
	addr device.Addr
	size uint64
}

// LinkRequest is the request for memory of two devices.
type LinkRequest struct {
	// SizeBytes is not 0.
	SizeBytes uint64
	// AlignmentBytes is a power of two up to AlignmentMax; 0: the pool's. It applies to
	// the address of the first block.
	AlignmentBytes uint64
	// Tag is a name for the counters, at most TagMax bytes; "": none.
	Tag string
}

// CreateMapping creates two blocks of type Mapped, one in each manager, that are the
// same memory. One device reads what the other writes; streams and events order these
// accesses. The memory belongs to the first manager and its counters, and is free when
// both blocks are freed. A forced close of the first manager ends both blocks, and that
// of the second ends its own. Neither block is ever moved.
//
// Errors: CodeInvalidArgument for managers of one device, CodeUnsupported for devices
// that cannot address the same memory, and those of AllocTyped. If it fails, nothing is
// left.
func (f *Factory) CreateMapping(src, dst *Manager, r LinkRequest) (first, second MemoryHandle, err error) {
	const op = "manager.create_mapping"
	if src.owner == dst.owner {
		return 0, 0, device.Errorf(device.CodeInvalidArgument, op,
			"both managers are on device %s: a link needs two devices", src.owner.engine.ID()).On(src.owner.engine.ID())
	}
	request := Request{Type: Mapped, SizeBytes: r.SizeBytes, AlignmentBytes: r.AlignmentBytes, Tag: r.Tag}
	if err := request.check(op, src.owner.engine); err != nil {
		return 0, 0, err
	}
	linker, ok := dst.owner.engine.Device().(device.Linker)
	if !ok || !dst.owner.engine.Info().Linker {
		return 0, 0, lacks(op, dst.owner.engine, "address memory of device "+src.owner.engine.ID().String())
	}
	if err := src.haveOwnHome(op, Mapped); err != nil {
		return 0, 0, err
	}
	if err := dst.begin(op); err != nil {
		return 0, 0, err
	}
	defer dst.end()
	where, err := src.enter(op, Mapped)
	if err != nil {
		return 0, 0, err
	}
	made, err := src.takeLinked(op, where, dst, linker, request)
	if err != nil {
		src.endAllocation(where, nil)
		return 0, 0, err
	}
	src.endAllocation(where, made.first)
	return made.first.handle, made.second.handle, nil
}

// takeLinked allocates memory and two handles for it, or nothing.
func (m *Manager) takeLinked(op string, where *home, dst *Manager, linker device.Linker, r Request) (*link, error) {
	dst.owner.flushUnlinks()
	memory, err := m.takeMemory(where, r)
	if err != nil {
		return nil, err
	}
	addr, err := linker.Link(m.owner.engine.Device(), memory.Addr, memory.SizeBytes)
	if err != nil {
		m.freeUnused(where, memory)
		return nil, err
	}
	l := &link{owner: m, home: where, addr: memory.Addr, at: linkedRange{addr, memory.SizeBytes}, left: 2}
	l.first = m.newBlock(where, memory, r)
	there := memory
	there.Addr = addr
	l.second = &block{
		manager: dst, memory: there, hostAddr: l.first.hostAddr, kind: Mapped, tag: r.Tag,
		order: m.factory.blocks.Add(1), alignment: r.AlignmentBytes,
	}
	l.first.link, l.second.link = l, l
	if err = m.publish(l.first); err == nil {
		if err = dst.publish(l.second); err == nil {
			l.handles[0].Store(uint64(l.first.handle))
			l.handles[1].Store(uint64(l.second.handle))
			return l, nil
		}
		m.unpublish(l.first)
	}
	dst.owner.unlinkLater(l.at)
	m.freeUnused(where, memory)
	return nil, err
}

// unpublish removes the handle of a block that no caller got.
func (m *Manager) unpublish(b *block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dead = true
	m.mu.Lock()
	m.live[b.kind]--
	m.mu.Unlock()
	_, err := m.factory.memory.Remove(uint64(b.handle))
	m.logFailure("a handle that does not exist", err)
}

func (l *link) other(b *block) *block {
	if b == l.first {
		return l.second
	}
	return l.first
}

// linkedHandle returns the block that is linked to this one, while it is live.
func (b *block) linkedHandle() MemoryHandle {
	if b.link == nil {
		return 0
	}
	other := b.link.handles[0].Load()
	if b == b.link.first {
		other = b.link.handles[1].Load()
	}
	if _, err := b.manager.factory.memory.Get(other); err != nil {
		return 0
	}
	return MemoryHandle(other)
}

// lockLinked locks a block and its linked block.
func (b *block) lockLinked() (unlock func()) {
	if b.link == nil {
		b.mu.Lock()
		return b.mu.Unlock
	}
	return lockBoth(b, b.link.other(b))
}

// passOn makes the free of the other block wait for the work that used this block. The
// caller holds the mu of both blocks.
func (l *link) passOn(b *block) {
	other := l.other(b)
	for _, s := range b.streams {
		if !slices.Contains(other.streams, s) {
			other.streams = append(other.streams, s)
		}
	}
}

// releaseLocked records that a block has ended. The caller holds the mu of both blocks.
func (l *link) releaseLocked(b *block) {
	l.left--
	if b == l.second {
		// Without its block no new work uses the memory on that device, although the
		// memory may still be live on the first device.
		b.manager.owner.unlinkLater(l.at)
	}
	m := l.owner
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case l.left > 0 && b == l.first:
		m.lent++
	case l.left == 0:
		l.home.users--
		if b == l.second {
			m.lent--
		}
	}
	m.changed.Broadcast()
}

// settle is called without a lock after a block of the manager was freed.
func (l *link) settle(m *Manager) {
	if m != l.owner {
		l.owner.closeFormer()
	}
	l.second.manager.owner.flushUnlinks()
}

// unlinkLater makes the device remove a link when no work uses it any more.
func (d *openDevice) unlinkLater(r linkedRange) {
	d.unclosedMu.Lock()
	defer d.unclosedMu.Unlock()
	d.unlinks = append(d.unlinks, r)
}

// flushUnlinks removes the links that can be removed now. A pool reuses only memory
// that no work uses, so reused memory can be linked again.
func (d *openDevice) flushUnlinks() {
	linker, ok := d.engine.Device().(device.Linker)
	if !ok {
		return
	}
	d.unclosedMu.Lock()
	defer d.unclosedMu.Unlock()
	d.unlinks = slices.DeleteFunc(d.unlinks, func(r linkedRange) bool {
		err := linker.Unlink(r.addr, r.size)
		return err == nil || errors.Is(err, device.CodeInvalidAddress)
	})
}

// awaitUnlinks makes the device remove all links. If links are still in use, it first
// waits for the work of all devices.
func (f *Factory) awaitUnlinks(d *openDevice) error {
	if d.flushUnlinks(); d.unlinksLeft() == 0 {
		return nil
	}
	f.mu.Lock()
	devices := slices.Collect(maps.Values(f.devices))
	f.mu.Unlock()
	for _, other := range devices {
		if err := other.engine.Synchronize(device.Forever); err != nil {
			return err
		}
	}
	d.flushUnlinks()
	if left := d.unlinksLeft(); left > 0 {
		return device.Errorf(device.CodeBusy, "device.close",
			"%s of other devices could not be unlinked", device.Count(left, "range")).On(d.engine.ID())
	}
	return nil
}

func (d *openDevice) unlinksLeft() int {
	d.unclosedMu.Lock()
	defer d.unclosedMu.Unlock()
	return len(d.unlinks)
}
