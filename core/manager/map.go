package manager

import (
	"errors"
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/manager/mappings"
)

// HostAccess is the use of a mapping by the program.
type HostAccess int32

// The modes of access.
const (
	HostRead      HostAccess = 0 // reads only
	HostWrite     HostAccess = 1 // writes only
	HostReadWrite HostAccess = 2 // both
)

var hostAccessNames = []string{"read_only", "write_only", "read_write"}

// String returns the mode as a word in lower case.
func (a HostAccess) String() string { return wordOf(hostAccessNames, int32(a)) }

func (a HostAccess) reads() bool  { return a != HostWrite }
func (a HostAccess) writes() bool { return a != HostRead }

// MapRequest is a range of a block to map.
type MapRequest struct {
	Memory      MemoryHandle
	OffsetBytes uint64
	// SizeBytes is not 0; MapToEnd means all bytes from OffsetBytes on.
	SizeBytes uint64
	Access    HostAccess
}

// MapToEnd as the size of a mapping means all bytes of the block from the offset on.
const MapToEnd = math.MaxUint64

// Mapping is a range of a block that the host can address.
type Mapping struct {
	// ID names the mapping within its block; it is never 0.
	ID       uint64
	HostAddr device.HostAddr
	// SizeBytes bytes can be used from HostAddr on.
	SizeBytes uint64
	// Staged states that HostAddr is a staging copy, on a device that the host cannot
	// address.
	Staged bool
}

// Map makes a range of a block addressable by the host, and waits for the work queued
// on the streams that have used the block. On a device that the host can address it
// returns the address of the block. On other devices it returns the address of a
// staging copy, which Unmap writes back. With HostRead the copy is not written back.
// With HostWrite the copy does not contain the block's bytes, so bytes that the program
// does not write have undefined values afterwards.
//
// A second Map of the same range with the same access returns the same mapping, which
// ends after as many calls of Unmap. A mapping that writes returns CodeBusy if it
// overlaps another one that writes. A mapping that reads may overlap one that writes.
// It sees the written bytes only after the writer's Unmap, and a staging copy never
// sees them. While a block is mapped it is neither moved nor freed. Work may be queued
// on it; the caller orders it with accesses through the mapping.
//
// Errors: CodeInvalidSize for 0, CodeInvalidOffset for a range outside the block,
// CodeOverflow, CodeInvalidArgument for an unknown access, CodeOutOfMemory if there is
// no host memory for the copy. If it fails, nothing is mapped.
func (f *Factory) Map(r MapRequest) (Mapping, error) {
	const op = "manager.map"
	b, err := f.lookUp(op, "memory", r.Memory)
	if err != nil {
		return Mapping{}, err
	}
	id := b.manager.Engine().ID()
	if r.Access < 0 || int(r.Access) >= len(hostAccessNames) {
		return Mapping{}, device.Errorf(device.CodeInvalidArgument, op,
			"access %d is not from 0 to %d", int32(r.Access), len(hostAccessNames)-1).On(id)
	}
	if r.Access.writes() {
		if err := b.writable(op, r.Memory); err != nil {
			return Mapping{}, err
		}
	}
	if r.SizeBytes == MapToEnd {
		if r.OffsetBytes >= b.memory.RequestedBytes {
			return Mapping{}, device.Errorf(device.CodeInvalidOffset, op,
				"offset_bytes %d is not within the block, which has %v",
				r.OffsetBytes, device.Size(b.memory.RequestedBytes)).On(id)
		}
		r.SizeBytes = b.memory.RequestedBytes - r.OffsetBytes
	}
	at := span{offsetName: "offset_bytes", offset: r.OffsetBytes, size: r.SizeBytes}
	if err := at.within(op, b.memory.RequestedBytes); err != nil {
		return Mapping{}, err
	}
	m, made, err := b.joinMapping(op, r)
	if err != nil {
		return Mapping{}, err
	}
	if made {
		f.makeMapping(op, b, m)
	}
	<-m.Settled
	if m.Failure != nil {
		return Mapping{}, m.Failure
	}
	return Mapping{ID: m.ID, HostAddr: m.Addr, SizeBytes: r.SizeBytes, Staged: m.Copy != nil}, nil
}

// joinMapping finds the mapping of the same range, or adds one that the caller has to
// create.
func (b *block) joinMapping(op string, r MapRequest) (m *mappings.Mapping, made bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(op); err != nil {
		return nil, false, err
	}
	m, made, refused := b.mappings.Join(mappings.Range{
		OffsetBytes: r.OffsetBytes, SizeBytes: r.SizeBytes, Reads: r.Access.reads(), Writes: r.Access.writes(),
	})
	switch {
	case refused == nil:
		return m, made, nil
	case refused.Code == device.CodeBusy:
		q := refused.Mapping
		err = device.Errorf(device.CodeBusy, op,
			"%v at offset_bytes %d of memory handle %#x overlap the mapping %d, which writes %v at %d",
			device.Size(r.SizeBytes), r.OffsetBytes, uint64(r.Memory), q.ID, device.Size(q.Range.SizeBytes), q.Range.OffsetBytes)
	default:
		err = device.Errorf(refused.Code, op, "memory handle %#x is mapped %s", uint64(r.Memory), device.Count(refused.Uses, "time"))
	}
	return nil, false, on(err, b.manager)
}

// makeMapping creates the mapping that joinMapping has added. No lock is held while it
// waits.
func (f *Factory) makeMapping(op string, b *block, m *mappings.Mapping) {
	var copied *mappings.Copy
	var err error
	if b.isHostVisible() {
		err = f.awaitUses(b)
	} else {
		copied, err = f.bringCopy(op, b, m.Range)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		if err = b.usable(op); err != nil && copied != nil {
			copied.Free()
		}
	}
	if err != nil {
		b.mappings.Settle(m, 0, nil, err)
		return
	}
	// The mapping is in the table, so the block does not move.
	addr := b.hostSide() + device.HostAddr(m.Range.OffsetBytes)
	if copied != nil {
		addr = copied.Addr
	}
	if m.Range.Reads {
		b.mapped(m, false).recordLocked()
	}
	b.mappings.Settle(m, addr, copied, nil)
}

// isHostVisible reports whether the host addresses the block itself.
func (b *block) isHostVisible() bool {
	return b.manager.Engine().Info().HostAddressable || b.hostAddr != 0
}

// mapped returns the use of the block by a mapping.
func (b *block) mapped(m *mappings.Mapping, writes bool) use {
	return use{block: b, offset: m.Range.OffsetBytes, size: m.Range.SizeBytes, writes: writes}
}

// awaitUses waits for the work queued on the streams that have used a block.
func (f *Factory) awaitUses(b *block) error {
	return endedInstead("manager.map", awaitEarlier(nil, b), b)
}

// Unmap ends one call of Map; id 0 means the last mapping of the block. The last Unmap
// of a mapping that writes copies the staging copy back, and returns after that. If the
// copy fails, the mapping does not change. Errors: CodeInvalidHandle, CodeNotMapped for
// a block without a mapping or without a mapping of that id.
func (f *Factory) Unmap(h MemoryHandle, id uint64) error {
	const op = "manager.unmap"
	b, err := f.lookUp(op, "memory", h)
	if err != nil {
		return err
	}
	m, err := b.endUse(op, h, id)
	if m == nil {
		return err
	}
	err = f.writeBack(op, b, m)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.dead:
		m.Copy.Free()
		return errors.Join(err, destroyed(op, handle.Memory, uint64(h)).On(b.manager.Engine().ID()))
	case err != nil:
		b.mappings.Resume(m)
		return err
	}
	b.mappings.End(m)
	b.mapped(m, true).recordLocked()
	return nil
}

// endUse ends one use of a mapping, and returns the mapping if it has to be written
// back.
func (b *block) endUse(op string, h MemoryHandle, id uint64) (*mappings.Mapping, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead {
		return nil, destroyed(op, handle.Memory, uint64(h)).On(b.manager.Engine().ID())
	}
	ended, writeBack, found := b.mappings.Release(id)
	if !found {
		return nil, device.Errorf(device.CodeNotMapped, op,
			"mapping %d of memory handle %#x: the block has %s, and none has this number",
			id, uint64(h), device.Count(b.mappings.Len(), "mapping")).On(b.manager.Engine().ID())
	}
	if ended != nil && ended.Range.Writes {
		b.mapped(ended, true).recordLocked()
	}
	return writeBack, nil
}
