package weights

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/vmm"
)

// Memory provides the memory of one device for loaded tensors. InPool, InModel and InRange are the
// implementations.
type Memory interface {
	// Engine returns the device of the memory.
	Engine() *engine.Engine
	// KeepAwake is called before the first Alloc of a load, and before an access. A Sleep of the memory waits
	// until release is called, which is after the last access and the last Free of a load.
	KeepAwake() (release func(), err error)
	// Sleeper identifies what KeepAwake keeps awake: one call serves all memories with an equal
	// Sleeper. It is comparable.
	Sleeper() any
	// Alloc allocates size bytes. size is not 0. The first work on the memory is queued on stream.
	Alloc(size uint64, stream device.Stream) (device.Addr, error)
	// RecordStream states that work of another stream uses the memory of one call of Alloc. Free then
	// waits for that work too, without blocking.
	RecordStream(addr device.Addr, size uint64, stream device.Stream) error
	// Free frees the memory that one call of Alloc returned.
	Free(addr device.Addr, size uint64) error
}

// sleeper is the tag of a model or a virtual pool that sleeps.
type sleeper struct {
	of  any
	tag string
}

// packBytes is the alignment of each tensor in a segment. It suffices for the vector loads of every
// device.
const packBytes = 256

// InPool allocates blocks of a pool with a tag; "": the name of the pool.
func InPool(p *pool.Pool, tag string) Memory { return &poolMemory{pool: p, tag: tag} }

type poolMemory struct {
	pool *pool.Pool
	tag  string
}

func (m *poolMemory) Engine() *engine.Engine { return m.pool.Engine() }

// KeepAwake does nothing: blocks of a pool do not sleep.
func (m *poolMemory) KeepAwake() (release func(), err error) { return func() {}, nil }

func (m *poolMemory) Sleeper() any { return m.pool }

func (m *poolMemory) Alloc(size uint64, stream device.Stream) (device.Addr, error) {
	block, err := m.pool.Alloc(pool.Request{SizeBytes: size, AlignmentBytes: packBytes, Tag: m.tag, Stream: stream})
	return block.Addr, err
}

func (m *poolMemory) RecordStream(addr device.Addr, _ uint64, stream device.Stream) error {
	return m.pool.RecordStream(addr, stream)
}

func (m *poolMemory) Free(addr device.Addr, _ uint64) error { return m.pool.Free(addr, nil) }

// InModel allocates pages of a model of an elastic pool, with a tag for sleep and reports; "": the
// id of the model. A tag that is asleep gets no new tensors (CodeInvalidState). Errors:
// CodeModelNotFound.
func InModel(p *vmm.Elastic, id, tag string) (Memory, error) {
	m, err := p.Model(id)
	if err != nil {
		return nil, err
	}
	return &modelMemory{pool: p, model: m, tag: tag}, nil
}

type modelMemory struct {
	pool  *vmm.Elastic
	model *vmm.Model
	tag   string
}

func (m *modelMemory) Engine() *engine.Engine { return m.pool.Physical().Engine() }

func (m *modelMemory) KeepAwake() (release func(), err error) { return m.model.KeepAwake(m.tag) }

func (m *modelMemory) Sleeper() any { return sleeper{m.model, m.tag} }

func (m *modelMemory) Alloc(size uint64, stream device.Stream) (device.Addr, error) {
	got, err := m.model.AllocTagged(vmm.AllocRequest{SizeBytes: size, Tag: m.tag, Stream: stream})
	return got.Addr, err
}

func (m *modelMemory) RecordStream(addr device.Addr, size uint64, stream device.Stream) error {
	return m.model.RecordStream(uint64(addr-m.model.BaseAddress()), size, stream)
}

func (m *modelMemory) Free(addr device.Addr, size uint64) error {
	return m.model.Free(uint64(addr-m.model.BaseAddress()), size, nil)
}

// InRange allocates pages of a virtual pool, starting at an offset, with a tag for sleep and
// reports; "": the name of the pool. Each segment follows the one before and has whole pages.
func InRange(p *vmm.Pool, offset uint64, tag string) Memory {
	return &rangeMemory{pool: p, next: offset, tag: tag}
}

type rangeMemory struct {
	pool *vmm.Pool
	// next is the offset of the next segment. A Memory is used by one load at a time.
	next uint64
	tag  string
}

func (m *rangeMemory) Engine() *engine.Engine { return m.pool.Physical().Engine() }

func (m *rangeMemory) KeepAwake() (release func(), err error) { return m.pool.KeepAwake(m.tag) }

func (m *rangeMemory) Sleeper() any { return sleeper{m.pool, m.tag} }

func (m *rangeMemory) Alloc(size uint64, stream device.Stream) (device.Addr, error) {
	addr, err := m.pool.AllocTagged(vmm.AllocRequest{OffsetBytes: m.next, SizeBytes: size, Tag: m.tag, Stream: stream})
	if err == nil {
		page := m.pool.PageBytes()
		m.next = (m.next + size + page - 1) / page * page
	}
	return addr, err
}

func (m *rangeMemory) RecordStream(addr device.Addr, size uint64, stream device.Stream) error {
	return m.pool.RecordStream(uint64(addr-m.pool.BaseAddress()), size, stream)
}

func (m *rangeMemory) Free(addr device.Addr, size uint64) error {
	offset := uint64(addr - m.pool.BaseAddress())
	err := m.pool.Free(offset, size, nil)
	if err == nil && offset < m.next {
		m.next = offset // a load frees its segments from the last to the first
	}
	return err
}
