package manager

import (
	"errors"
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
)

// Adoption describes external memory that is to get a handle.
type Adoption struct {
	// Type is the use of the memory. The owner is responsible for locking or sharing
	// it.
	Type MemoryType
	// Addr is the address on the device. For Pinned memory, and for Mapped memory that
	// is page-locked, it is the address in the process.
	Addr device.Addr
	// SizeBytes is not 0.
	SizeBytes uint64
	// ReadOnly states that the block is never written. Copies, fills and mappings that
	// write to it return CodePermissionDenied. It is for memory that the process can
	// only read, such as a read-only file mapping.
	ReadOnly bool
	// Tag is a name for the counters, at most TagMax bytes; "": none.
	Tag string
}

// Adopted counts live blocks of external memory. No pool counts them.
type Adopted struct {
	Blocks uint64 `json:"blocks"`
	Bytes  uint64 `json:"bytes"`
}

// Adopted returns the counters of live external memory.
func (m *Manager) Adopted() Adopted {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.adopted
}

// Adopt assigns a handle to external memory. Its owner keeps it valid until the block
// is freed. The block is used like any other, is never moved, its memory is never
// freed, and it counts as live. Free returns CodeBusy while work is queued on it; a
// forced close of the manager waits for that work.
//
// Memory of the process is page-locked as long as it has the handle, if the type is
// page-locked memory and the device can do that. Memory that is already page-locked is
// used as it is.
//
// Errors: CodeInvalidSize for 0; CodeInvalidAddress for memory that is not readable
// everywhere, or not writable unless it is ReadOnly, as far as the device can check;
// CodeAlreadyExists for memory that the device already has; CodeOverflow;
// CodeUnsupported.
func (m *Manager) Adopt(a Adoption) (MemoryHandle, error) {
	const op = "manager.adopt"
	adopter, err := m.checkAdoption(op, a)
	if err != nil {
		return 0, err
	}
	if err := m.begin(op); err != nil {
		return 0, err
	}
	defer m.end()
	memory, err := m.enterForeign(adopter, a)
	if err != nil {
		return 0, err
	}
	if !m.config.EnableTracking {
		a.Tag = ""
	}
	b := &block{
		manager: m, adopted: true, readOnly: a.ReadOnly, kind: a.Type, tag: a.Tag, order: m.factory.blocks.Add(1), hostAddr: memory.HostAddr,
		memory: pool.Block{
			Addr: memory.Addr, SizeBytes: a.SizeBytes, RequestedBytes: a.SizeBytes, Tag: a.Tag, AllocatedAt: track.Now(),
		},
	}
	if err := m.publish(b); err != nil {
		m.logFailure("external memory without a handle", b.returnToOwner())
		return 0, err
	}
	return b.handle, nil
}

// enterForeign registers external memory with the device: as page-locked memory if that
// is its use, and otherwise with device.Adopter.
func (m *Manager) enterForeign(adopter device.Adopter, a Adoption) (device.PinnedMemory, error) {
	e := m.owner.engine
	access := device.AccessReadWrite
	if a.ReadOnly {
		access = device.AccessRead
	}
	var refused error
	if registrar, ok := e.Device().(device.Registrar); ok && e.Info().Registrar && a.Type.sourceOn(e) == engine.SourcePinned {
		host := device.HostAddr(a.Addr)
		addr, err := registrar.Register(host, a.SizeBytes, access)
		if !errors.Is(err, device.CodeInvalidAddress) {
			return device.PinnedMemory{Addr: addr, HostAddr: host}, err
		}
		refused = err
	}
	err := adopter.Adopt(a.Addr, a.SizeBytes, access, device.Alone)
	if refused != nil && errors.Is(err, device.CodeInvalidAddress) {
		err = refused
	}
	return device.PinnedMemory{Addr: a.Addr}, err
}

func (m *Manager) checkAdoption(op string, a Adoption) (device.Adopter, error) {
	e := m.owner.engine
	if err := a.Type.checkKnown(op, e.ID()); err != nil {
		return nil, err
	}
	if a.Addr == 0 {
		return nil, device.Errorf(device.CodeInvalidAddress, op, "address is 0").On(e.ID())
	}
	if a.SizeBytes == 0 {
		return nil, device.Errorf(device.CodeInvalidSize, op, "size_bytes is 0").On(e.ID())
	}
	if _, carry := bits.Add64(uint64(a.Addr), a.SizeBytes, 0); carry != 0 {
		return nil, device.Errorf(device.CodeOverflow, op,
			"address %#x + size_bytes %d does not fit 64 bits", uint64(a.Addr), a.SizeBytes).On(e.ID())
	}
	if err := checkTag(op, e.ID(), a.Tag); err != nil {
		return nil, err
	}
	adopter, ok := e.Device().(device.Adopter)
	if !ok {
		return nil, lacks(op, e, "use external memory")
	}
	return adopter, nil
}

// writable rejects a read-only block.
func (b *block) writable(op string, h MemoryHandle) error {
	if !b.readOnly {
		return nil
	}
	return device.Errorf(device.CodePermissionDenied, op,
		"memory handle %#x was adopted as read-only", uint64(h)).On(b.manager.owner.engine.ID())
}

// disown frees an adopted block that no work uses. The caller holds b.mu.
func (m *Manager) disown(b *block) error {
	b.prune()
	if n := len(b.operations); n > 0 {
		return device.Errorf(device.CodeBusy, "manager.free",
			"memory handle %#x is external memory with %d queued operations",
			uint64(b.handle), n).On(m.owner.engine.ID())
	}
	if err := b.returnToOwner(); err != nil {
		return err
	}
	return m.bury(b)
}

// returnToOwner removes external memory from the device.
func (b *block) returnToOwner() error {
	if b.imported != nil {
		return b.imported.close()
	}
	if registrar, ok := b.manager.owner.engine.Device().(device.Registrar); ok && b.hostAddr != 0 {
		return registrar.Unregister(b.memory.Addr, b.memory.SizeBytes)
	}
	adopter, ok := b.manager.owner.engine.Device().(device.Adopter)
	if !ok {
		return lacks("manager.disown", b.manager.owner.engine, "use external memory")
	}
	return adopter.Disown(b.memory.Addr, b.memory.SizeBytes, device.Alone)
}
