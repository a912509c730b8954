package manager

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
)

// TagMax is the longest tag, in bytes.
const TagMax = 63

// Request is the request for a block.
type Request struct {
	Type MemoryType
	// SizeBytes is not 0.
	SizeBytes uint64
	// AlignmentBytes is a power of two up to AlignmentMax; 0: the pool's.
	AlignmentBytes uint64
	// Tag is a name for the counters, at most TagMax bytes; "": none.
	Tag string
	// Relocatable allows Defragment to move the block while no work uses it; its
	// address then changes. Factory.Pin keeps it where it is.
	Relocatable bool
}

// Alloc allocates a block of type General. Errors: CodeInvalidSize for 0, and those of
// the pool, such as CodeOutOfMemory.
func (m *Manager) Alloc(sizeBytes uint64) (MemoryHandle, error) {
	return m.AllocTyped(Request{SizeBytes: sizeBytes})
}

func (r Request) check(op string, e *engine.Engine) error {
	id := e.ID()
	if err := r.Type.check(op, e); err != nil {
		return err
	}
	if source := r.Type.sourceOn(e); r.Relocatable && source != engine.SourceDevice {
		return device.Errorf(device.CodeInvalidArgument, op,
			"memory_type %s (%d) is %v, whose address never changes: it cannot be relocatable",
			r.Type, int32(r.Type), source).On(id)
	}
	if r.SizeBytes == 0 {
		return device.Errorf(device.CodeInvalidSize, op, "size_bytes is 0").On(id)
	}
	if r.AlignmentBytes&(r.AlignmentBytes-1) != 0 || r.AlignmentBytes > AlignmentMax {
		return device.Errorf(device.CodeInvalidAlignment, op,
			"alignment_bytes %d is not a power of two up to %d", r.AlignmentBytes, AlignmentMax).On(id)
	}
	return checkTag(op, id, r.Tag)
}

func checkTag(op string, id device.ID, tag string) error {
	if len(tag) > TagMax {
		return device.Errorf(device.CodeInvalidArgument, op,
			"tag %.80q has %v, more than %d", tag, device.Size(len(tag)), TagMax).On(id)
	}
	return nil
}

// AllocTyped allocates a block for a request.
func (m *Manager) AllocTyped(r Request) (MemoryHandle, error) {
	const op = "manager.alloc"
	if err := r.check(op, m.owner.engine); err != nil {
		return 0, err
	}
	if !m.config.EnableTracking {
		r.Tag = ""
	}
	if err := m.haveOwnHome(op, r.Type); err != nil {
		return 0, err
	}
	where, err := m.enter(op, r.Type)
	if err != nil {
		return 0, err
	}
	// No lock is held here, because the reclaim path may call the caller's callbacks.
	made, err := m.take(where, r)
	m.endAllocation(where, made)
	if err != nil {
		return 0, err
	}
	m.collect()
	m.closeFormer()
	return made.handle, nil
}

// enter finds the home of a type and counts an allocation in progress.
func (m *Manager) enter(op string, kind MemoryType) (*home, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing.Load() {
		return nil, m.closedError(op)
	}
	where := m.homes[kind]
	if where == nil {
		where = m.homes[General]
	}
	m.calls++
	where.users++
	return where, nil
}

// endAllocation ends an allocation; made is nil if it failed.
func (m *Manager) endAllocation(where *home, made *block) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls--
	if made == nil {
		where.users--
	}
	m.changed.Broadcast()
}

// take allocates memory from the pool and a handle for it, or neither.
func (m *Manager) take(where *home, r Request) (*block, error) {
	memory, err := m.takeMemory(where, r)
	if err != nil {
		return nil, err
	}
	b := m.newBlock(where, memory, r)
	if err := m.publish(b); err != nil {
		m.freeUnused(where, memory)
		return nil, err
	}
	return b, nil
}

// takeMemory allocates memory from the pool.
func (m *Manager) takeMemory(where *home, r Request) (pool.Block, error) {
	request := pool.Request{SizeBytes: r.SizeBytes, AlignmentBytes: r.AlignmentBytes, Tag: r.Tag}
	memory, err := where.pool.Alloc(request)
	if errors.Is(err, device.CodeResourceExhausted) && m.trimPinned() {
		memory, err = where.pool.Alloc(request)
	}
	if err != nil {
		return pool.Block{}, err
	}
	if err := m.markNew(memory); err != nil {
		m.freeUnused(where, memory)
		return pool.Block{}, err
	}
	return memory, nil
}

func (m *Manager) freeUnused(where *home, memory pool.Block) {
	m.logFailure("memory without a handle could not be freed", where.pool.FreeAfter(memory.Addr, nil))
}

func (m *Manager) newBlock(where *home, memory pool.Block, r Request) *block {
	b := &block{
		manager: m, home: where, memory: memory, kind: r.Type, tag: r.Tag,
		order: m.factory.blocks.Add(1), relocatable: r.Relocatable, alignment: r.AlignmentBytes,
	}
	if where.source != engine.SourceDevice {
		b.hostAddr = where.pool.HostAddr(memory.Addr)
	}
	return b
}

// publish assigns a handle to a block and adds it to the counters.
func (m *Manager) publish(b *block) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, err := m.factory.memory.Insert(b)
	if err != nil {
		return err
	}
	b.handle = MemoryHandle(id)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live[b.kind]++
	if b.adopted {
		m.adopted.Blocks++
		m.adopted.Bytes += b.memory.SizeBytes
	}
	return nil
}
