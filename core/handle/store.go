package handle

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
)

// The slots are in chunks that are never moved or freed, so a reader needs no lock to
// reach one. Each chunk is twice as large as the one before it: chunk k has firstChunk<<k
// slots, and 27 chunks cover every 32-bit index. The first chunk is part of the table.
// Most tables need no other chunk, and a lookup in the first chunk needs few dependent
// loads.
const (
	firstChunkBits = 6
	firstChunk     = 1 << firstChunkBits
	chunkCount     = 32 - firstChunkBits + 1
)

// entry is the contents of a live slot. It is never modified, so one atomic load returns
// an id and a value that belong together.
type entry struct {
	id    uint64
	value any
}

type slot struct {
	live atomic.Pointer[entry]
	// generation is the generation of the latest entry; 0 before the first.
	generation atomic.Uint32
}

// store is a table of values of any type. It does not depend on the type of a Table, so a
// further kind of handles adds no code and no types to the binary.
type store struct {
	first  [firstChunk]slot
	kind   Kind
	chunks [chunkCount]atomic.Pointer[[]slot]
	// used counts the slots that have ever had an entry.
	used atomic.Uint64
	live atomic.Int64

	mu   sync.Mutex
	free []uint32
	// capacity and firstGeneration differ only in tests, where they are smaller and
	// larger.
	capacity        uint64
	firstGeneration uint32
}

func (t *store) init(kind Kind) {
	t.kind, t.capacity, t.firstGeneration = kind, 1<<32, 1
	first := t.first[:]
	t.chunks[0].Store(&first)
}

// at returns the slot of an index below used.
func (t *store) at(index uint32) *slot {
	position := uint64(index) + firstChunk
	chunk := bits.Len64(position) - 1 - firstChunkBits
	slots := *t.chunks[chunk].Load()
	return &slots[position-firstChunk<<chunk]
}

func (t *store) insert(value any) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	index, err := t.takeSlot()
	if err != nil {
		return 0, err
	}
	s := t.at(index)
	generation := s.generation.Load() + 1
	if generation == 1 {
		generation = t.firstGeneration
	}
	id := makeID(t.kind, generation, index)
	s.generation.Store(generation)
	s.live.Store(&entry{id: id, value: value})
	t.live.Add(1)
	return id, nil
}

// takeSlot chooses a slot without an entry that has a generation left. The caller holds
// t.mu.
func (t *store) takeSlot() (uint32, error) {
	if last := len(t.free) - 1; last >= 0 {
		index := t.free[last]
		t.free = t.free[:last]
		return index, nil
	}
	used := t.used.Load()
	if used >= t.capacity {
		return 0, device.Errorf(device.CodeResourceExhausted, "handle.insert",
			"no %s handle is left: all %d slots are in use or exhausted", t.kind, used)
	}
	chunk := bits.Len64(used+firstChunk) - 1 - firstChunkBits
	if t.chunks[chunk].Load() == nil {
		slots := make([]slot, firstChunk<<chunk)
		t.chunks[chunk].Store(&slots)
	}
	// Published after the chunk, so a reader that sees the count finds the slot.
	t.used.Store(used + 1)
	return uint32(used), nil
}

func (t *store) get(id uint64) (any, error) {
	if value, ok := t.near(id); ok {
		return value, nil
	}
	return t.getFar(id)
}

func (t *store) near(id uint64) (value any, ok bool) {
	// A handle of another chunk is not equal to the handle in this slot.
	found := t.first[id%firstChunk].live.Load()
	if found == nil || found.id != id {
		return nil, false
	}
	return found.value, true
}

// getFar is get for a handle that is not in the first chunk.
func (t *store) getFar(id uint64) (any, error) {
	if KindOf(id) == t.kind && uint64(indexOf(id)) < t.used.Load() {
		if found := t.at(indexOf(id)).live.Load(); found != nil && found.id == id {
			return found.value, nil
		}
	}
	return nil, t.explain("handle.get", id)
}

func (t *store) remove(id uint64) (any, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	value, err := t.get(id)
	if err != nil {
		return nil, err
	}
	index := indexOf(id)
	t.at(index).live.Store(nil)
	t.live.Add(-1)
	if generationOf(id) < generationMax {
		t.free = append(t.free, index)
	}
	return value, nil
}

// entryAt returns the entry of a slot below used; nil if there is none.
func (t *store) entryAt(index uint64) *entry { return t.at(uint32(index)).live.Load() }

// explain returns the error for an id that is not a live handle of this table.
func (t *store) explain(op string, id uint64) error {
	if id == 0 {
		return device.Errorf(device.CodeInvalidHandle, op, "%s handle is 0", t.kind)
	}
	if kind := KindOf(id); kind != t.kind {
		return device.Errorf(device.CodeInvalidHandle, op,
			"handle %#x is of kind %s (%d), not of kind %s (%d)", id, kind, kind, t.kind, t.kind)
	}
	generation, index := generationOf(id), indexOf(id)
	if generation != 0 && generation >= t.firstGeneration && uint64(index) < t.used.Load() &&
		generation <= t.at(index).generation.Load() {
		return device.Errorf(device.CodeInvalidHandle, op,
			"%s handle %#x has been destroyed", t.kind, id)
	}
	return device.Errorf(device.CodeInvalidHandle, op,
		"%s handle %#x was never created", t.kind, id)
}
