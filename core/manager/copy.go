package manager

import (
	"ferrum_mem/core/device"
)

// transferEnds is a checked transfer with its two blocks.
type transferEnds struct {
	Transfer
	src, dst *block
}

func (f *Factory) ends(op string, t Transfer) (transferEnds, error) {
	ends := transferEnds{Transfer: t}
	var err error
	if ends.src, err = f.lookUp(op, "src", t.Src); err != nil {
		return ends, err
	}
	if ends.dst, err = f.lookUp(op, "dst", t.Dst); err != nil {
		return ends, err
	}
	from := span{offsetName: "src_offset_bytes", offset: t.SrcOffsetBytes, size: t.SizeBytes}
	if err := from.within(op, ends.src.memory.RequestedBytes); err != nil {
		return ends, err
	}
	to := span{offsetName: "dst_offset_bytes", offset: t.DstOffsetBytes, size: t.SizeBytes}
	if err := to.within(op, ends.dst.memory.RequestedBytes); err != nil {
		return ends, err
	}
	return ends, ends.dst.writable(op, t.Dst)
}

// uses returns the two blocks, the destination first.
func (t transferEnds) uses() []use {
	return []use{
		{block: t.dst, offset: t.DstOffsetBytes, size: t.SizeBytes, writes: true},
		{block: t.src, offset: t.SrcOffsetBytes, size: t.SizeBytes},
	}
}

func (t transferEnds) route() route {
	if t.src.link != nil && t.src.link == t.dst.link {
		// Both are the same memory, so one device copies it, and the ranges may
		// overlap.
		t.src = t.dst
	}
	return route{
		dst: t.dst.manager.owner, src: t.src.manager.owner,
		dstAddr: t.dst.memory.Addr + device.Addr(t.DstOffsetBytes),
		srcAddr: t.src.memory.Addr + device.Addr(t.SrcOffsetBytes),
		size:    t.SizeBytes,
	}
}

// Copy copies bytes between two blocks, of one device or of two, or within one block
// (as with memmove), and returns after the copy. It waits for work queued before on the
// streams that have used the blocks. The copy runs in the default stream of the
// destination's device; Copy returns the first failure of queued work of that stream.
// Errors: CodeInvalidSize for 0, CodeInvalidOffset for a range outside its block,
// CodeOverflow for an offset + size beyond 64 bits.
func (f *Factory) Copy(t Transfer) error {
	const op = "manager.copy"
	ends, err := f.ends(op, t)
	if err != nil {
		return err
	}
	return f.runNow(op, func(s *stream) func(device.Stream) error {
		return f.queueCopy(s, ends.route())
	}, ends.uses()...)
}

// CopyAsync queues a copy on a stream of the destination's device (0: the default one;
// CodeInvalidArgument for a stream of another device) and returns. The memory of both
// blocks stays until the copy has completed. If MaxConcurrentTransfers are in flight to
// the destination's manager, CopyAsync waits for the oldest of them. Other errors: as
// for Copy.
func (f *Factory) CopyAsync(t Transfer, on StreamHandle) error {
	const op = "manager.copy_async"
	ends, err := f.ends(op, t)
	if err != nil {
		return err
	}
	m := ends.dst.manager
	s, err := f.streamOn(op, m.owner, on)
	if err != nil {
		return err
	}
	if err := m.transfers.take(); err != nil {
		return endedInstead(op, err, ends.dst, ends.src)
	}
	unlock := lockBoth(ends.dst, ends.src)
	o, err := enqueue(op, s, f.queueCopy(s, ends.route()), 1, ends.dst, ends.src)
	if err == nil {
		recordLocked(ends.uses())
	}
	unlock()
	m.transfers.use(o)
	return err
}

// hostRange is a range of the caller's memory for Write and Read.
type hostRange struct {
	name string
	addr device.HostAddr
}

func (f *Factory) reach(op string, h MemoryHandle, offset, size uint64, host hostRange) (*block, error) {
	b, err := f.lookUp(op, "memory", h)
	if err != nil {
		return nil, err
	}
	if host.addr == 0 {
		return nil, device.Errorf(device.CodeNullPointer, op, "%s is NULL", host.name)
	}
	if uint64(host.addr)+size < size {
		return nil, device.Errorf(device.CodeOverflow, op,
			"%s %#x + size_bytes %d does not fit 64 bits", host.name, uint64(host.addr), size)
	}
	at := span{offsetName: "offset_bytes", offset: offset, size: size}
	return b, at.within(op, b.memory.RequestedBytes)
}

// Write copies size bytes of the caller's memory into a block and returns after the
// copy, like Copy. src must stay valid until then.
func (f *Factory) Write(h MemoryHandle, offset uint64, src device.HostAddr, size uint64) error {
	const op = "manager.write"
	b, err := f.reach(op, h, offset, size, hostRange{"source", src})
	if err == nil {
		err = b.writable(op, h)
	}
	if err != nil {
		return err
	}
	return f.runNow(op, func(*stream) func(device.Stream) error {
		return func(dev device.Stream) error {
			return dev.CopyFromHost(b.memory.Addr+device.Addr(offset), src, size)
		}
	}, use{block: b, offset: offset, size: size, writes: true})
}

// Read copies size bytes of a block into the caller's memory and returns after the
// copy, like Copy.
func (f *Factory) Read(h MemoryHandle, offset uint64, dst device.HostAddr, size uint64) error {
	const op = "manager.read"
	b, err := f.reach(op, h, offset, size, hostRange{"destination", dst})
	if err != nil {
		return err
	}
	return f.runNow(op, func(*stream) func(device.Stream) error {
		return func(dev device.Stream) error {
			return dev.CopyToHost(dst, b.memory.Addr+device.Addr(offset), size)
		}
	}, use{block: b, offset: offset, size: size})
}

// FillAsync queues a fill on a stream of the block's device (0: the default one) and
// returns. The block's memory stays until the fill has completed. Errors:
// CodeInvalidArgument for a pattern that is not 1, 2 or 4 bytes or whose value does not
// fit them, CodeInvalidSize and CodeInvalidOffset for values that are not multiples of
// the width, and those of Copy.
func (f *Factory) FillAsync(fill Fill, on StreamHandle) error {
	const op = "manager.fill_async"
	b, err := f.lookUp(op, "memory", fill.Memory)
	if err == nil {
		err = b.writable(op, fill.Memory)
	}
	if err != nil {
		return err
	}
	at := span{offsetName: "offset_bytes", offset: fill.OffsetBytes, size: fill.SizeBytes}
	if err := at.within(op, b.memory.RequestedBytes); err != nil {
		return err
	}
	s, err := f.streamOn(op, b.manager.owner, on)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := fill.check(op, b.memory.Addr); err != nil {
		return err
	}
	_, err = enqueue(op, s, func(dev device.Stream) error {
		return dev.Fill(b.memory.Addr+device.Addr(fill.OffsetBytes), fill.Pattern, fill.SizeBytes)
	}, 0, b)
	if err == nil {
		use{block: b, offset: fill.OffsetBytes, size: fill.SizeBytes, writes: true}.recordLocked()
	}
	return err
}
