package manager

import (
	"errors"
	"math"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
)

// HostAccess is what a program does through a mapping.
type HostAccess int32

// The modes of access.
const (
	HostRead      HostAccess = 0 // reads only
	HostWrite     HostAccess = 1 // writes only
	HostReadWrite HostAccess = 2 // both
)

var hostAccessNames = []string{"read_only", "write_only", "read_write"}

// String is the mode as a word in lower case.
func (a HostAccess) String() string { return wordOf(hostAccessNames, int32(a)) }

func (a HostAccess) reads() bool  { return a != HostWrite }
func (a HostAccess) writes() bool { return a != HostRead }

// MapRequest is a range of a block to map.
type MapRequest struct {
	Memory      MemoryHandle
	OffsetBytes uint64
	// SizeBytes is not 0; MapToEnd is all from OffsetBytes on.
	SizeBytes uint64
	Access    HostAccess
}

// MapToEnd as the size of a mapping is all of the block from the offset on.
const MapToEnd = math.MaxUint64

// Mapping is a range of a block that the host can address.
type Mapping struct {
	// ID names the mapping among those of its block; it is never 0.
	ID       uint64
	HostAddr device.HostAddr
	// SizeBytes may be used from HostAddr on.
	SizeBytes uint64
	// Staged says that HostAddr is a copy, on a device that the host cannot address.
	Staged bool
}

// mapping is a mapping of a block, all guarded by block.mu but what is said.
type mapping struct {
	id      uint64
	request MapRequest
	// count is the calls of Map that Unmap has not ended.
	count uint32
	state mappingState
	// settled is closed when making has ended; failure, then, is how.
	settled chan struct{}
	failure error
	addr    device.HostAddr
	// copied is nil where the block itself is mapped.
	copied *mapCopy
}

type mappingState int

const (
	mappingMaking mappingState = iota
	mappingReady
	// mappingEnding is being written back.
	mappingEnding
)

// Map makes a range of a block addressable by the host, and waits for what is queued
// on the streams that have used the block. On a device that the host can address it
// gives the address of the block itself; on any other one a copy, which Unmap writes
// back: for HostRead never, for HostWrite without having been read before, so that
// what is not written through it has no defined value afterwards.
//
// The same range with the same access nests: it gives the same mapping, which ends
// with as many calls of Unmap. A mapping that writes and overlaps another that writes
// is CodeBusy. One that reads may overlap one that writes; what it sees of that is
// defined only from the writer's Unmap, and in a copy not at all. While a block is
// mapped it is neither moved nor given back; work may be queued on it, with the
// caller's own order against what goes through the mapping.
//
// Errors: CodeInvalidSize for 0, CodeInvalidOffset for a range that leaves the block,
// CodeOverflow, CodeInvalidArgument for what is no access, CodeOutOfMemory when there
// is no host memory for the copy. When it fails, nothing is mapped.
func (f *Factory) Map(r MapRequest) (Mapping, error) {
	const op = "manager.map"
	b, err := f.lookUp(op, "memory", r.Memory)
	if err != nil {
		return Mapping{}, err
	}
	id := b.manager.Engine().ID()
	if r.Access < 0 || int(r.Access) >= len(hostAccessNames) {
		return Mapping{}, device.Errorf(device.CodeInvalidArgument, op,
			"access %d is none of 0 to %d", int32(r.Access), len(hostAccessNames)-1).On(id)
	}
	if r.SizeBytes == MapToEnd {
		if r.OffsetBytes >= b.memory.RequestedBytes {
			return Mapping{}, device.Errorf(device.CodeInvalidOffset, op,
				"offset_bytes %d is not within the block, which has %d bytes",
				r.OffsetBytes, b.memory.RequestedBytes).On(id)
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
	<-m.settled
	if m.failure != nil {
		return Mapping{}, m.failure
	}
	return Mapping{ID: m.id, HostAddr: m.addr, SizeBytes: r.SizeBytes, Staged: m.copied != nil}, nil
}

// joinMapping finds the mapping of just this range, or enters one that is to be made.
func (b *block) joinMapping(op string, r MapRequest) (m *mapping, made bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(op); err != nil {
		return nil, false, err
	}
	for _, m := range b.mappings {
		q := m.request
		if q.OffsetBytes == r.OffsetBytes && q.SizeBytes == r.SizeBytes && q.Access == r.Access &&
			m.state != mappingEnding && m.failure == nil {
			if m.count == math.MaxUint32 {
				return nil, false, device.Errorf(device.CodeResourceExhausted, op,
					"memory handle %#x is mapped %d times", uint64(r.Memory), m.count).On(b.manager.Engine().ID())
			}
			m.count++
			return m, false, nil
		}
		if r.Access.writes() && q.Access.writes() && r.OffsetBytes < q.OffsetBytes+q.SizeBytes &&
			q.OffsetBytes < r.OffsetBytes+r.SizeBytes {
			return nil, false, device.Errorf(device.CodeBusy, op,
				"%d bytes at offset_bytes %d of memory handle %#x overlap the mapping %d, which writes %d bytes at %d",
				r.SizeBytes, r.OffsetBytes, uint64(r.Memory), m.id, q.SizeBytes, q.OffsetBytes).On(b.manager.Engine().ID())
		}
	}
	b.mappingsMade++
	m = &mapping{id: b.mappingsMade, request: r, count: 1, settled: make(chan struct{})}
	b.mappings = append(b.mappings, m)
	return m, true, nil
}

// makeMapping makes what joinMapping has entered. No lock is held while it waits.
func (f *Factory) makeMapping(op string, b *block, m *mapping) {
	var copied *mapCopy
	var err error
	if b.isHostVisible() {
		err = f.awaitUses(b)
	} else {
		copied, err = f.bringCopy(op, b, m.request)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	defer close(m.settled)
	if err == nil {
		err = b.usable(op)
		if err != nil && copied != nil {
			copied.free()
		}
	}
	if err != nil {
		m.failure = err
		b.dropMapping(m)
		return
	}
	// The mapping is entered, so the block stays where it is.
	m.addr = b.hostSide() + device.HostAddr(m.request.OffsetBytes)
	if copied != nil {
		m.addr, m.copied = copied.addr, copied
	}
	m.state = mappingReady
	if m.request.Access.reads() {
		m.useOf(b, false).recordLocked()
	}
}

// isHostVisible says whether the host addresses the block itself.
func (b *block) isHostVisible() bool {
	return b.manager.Engine().Info().HostAddressable || b.hostAddr != 0
}

func (m *mapping) useOf(b *block, writes bool) use {
	return use{block: b, offset: m.request.OffsetBytes, size: m.request.SizeBytes, writes: writes}
}

// awaitUses waits for what is queued on the streams that have used a block.
func (f *Factory) awaitUses(b *block) error {
	return endedInstead("manager.map", awaitEarlier(nil, b), b)
}

// Unmap ends one call of Map; id 0 is the mapping of the block that was made last.
// The last one writes a copy back, for an access that writes, and returns when that
// is done. When that fails, the mapping is as it was. Errors: CodeInvalidHandle,
// CodeNotMapped for a block that is not mapped or has no mapping of that id.
func (f *Factory) Unmap(h MemoryHandle, id uint64) error {
	const op = "manager.unmap"
	b, err := f.lookUp(op, "memory", h)
	if err != nil {
		return err
	}
	m, err := b.leaveMapping(op, h, id)
	if m == nil {
		return err
	}
	err = f.writeBack(op, b, m)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.dead:
		m.copied.free()
		return errors.Join(err, destroyed(op, handle.Memory, uint64(h)).On(b.manager.Engine().ID()))
	case err != nil:
		m.state = mappingReady
		return err
	}
	b.endMapping(m)
	return nil
}

// leaveMapping ends one use of a mapping, and gives it when it is to be written
// back.
func (b *block) leaveMapping(op string, h MemoryHandle, id uint64) (*mapping, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dead {
		return nil, destroyed(op, handle.Memory, uint64(h)).On(b.manager.Engine().ID())
	}
	m := b.readyMapping(id)
	if m == nil {
		return nil, device.Errorf(device.CodeNotMapped, op,
			"mapping %d of memory handle %#x: the block has %d mappings, and not that",
			id, uint64(h), len(b.mappings)).On(b.manager.Engine().ID())
	}
	if m.count > 1 {
		m.count--
		return nil, nil
	}
	if m.copied != nil && m.request.Access.writes() {
		m.state = mappingEnding
		return m, nil
	}
	b.endMapping(m)
	return nil, nil
}

// readyMapping finds a mapping that is ready; 0 is the one made last. The caller holds
// b.mu.
func (b *block) readyMapping(id uint64) *mapping {
	for _, m := range slices.Backward(b.mappings) {
		if m.state == mappingReady && (id == 0 || m.id == id) {
			return m
		}
	}
	return nil
}

// endMapping forgets a mapping whose bytes are where they belong. The caller holds
// b.mu.
func (b *block) endMapping(m *mapping) {
	b.dropMapping(m)
	if m.copied != nil {
		m.copied.free()
	}
	if m.request.Access.writes() {
		m.useOf(b, true).recordLocked()
	}
}

// dropMapping takes a mapping out of the list. The caller holds b.mu.
func (b *block) dropMapping(m *mapping) {
	b.mappings = slices.DeleteFunc(b.mappings, func(other *mapping) bool { return other == m })
}

// forgetMappings ends the mappings of a block that dies by force: what was not written
// back is lost. A call that is making or ending one frees its copy itself. The caller
// holds b.mu.
func (b *block) forgetMappings() {
	for _, m := range b.mappings {
		if m.state == mappingReady && m.copied != nil {
			m.copied.free()
		}
	}
	b.mappings = nil
}
