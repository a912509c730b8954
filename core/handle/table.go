package handle

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
)

// The slots live in chunks that are never moved or given up, so a reader needs
// no lock to reach one. Each chunk is twice as large as the one before it:
// chunk k holds firstChunk<<k slots, and 27 chunks cover every 32-bit index. The
// first chunk is part of the table: most tables need no other, and a handle of it
// is looked up with few loads that wait for each other.
const (
	firstChunkBits = 6
	firstChunk     = 1 << firstChunkBits
	chunkCount     = 32 - firstChunkBits + 1
)

// tenant is what a live slot holds. It is made once and never written again, so
// one atomic load gives an id and a value that belong together.
type tenant[T any] struct {
	id    uint64
	value T
}

type slot[T any] struct {
	live atomic.Pointer[tenant[T]]
	// generation is that of the latest tenant; 0 before the first.
	generation atomic.Uint32
}

// Table gives out handles of one kind. All methods are safe for concurrent use.
type Table[T any] struct {
	first  [firstChunk]slot[T]
	kind   Kind
	chunks [chunkCount]atomic.Pointer[[]slot[T]]
	// used counts the slots that have ever had a tenant.
	used atomic.Uint64
	live atomic.Int64

	mu   sync.Mutex
	free []uint32
	// capacity and firstGeneration are smaller and larger in tests only.
	capacity        uint64
	firstGeneration uint32
}

// New makes an empty table for handles of the kind.
func New[T any](kind Kind) *Table[T] {
	t := &Table[T]{kind: kind, capacity: 1 << 32, firstGeneration: 1}
	first := t.first[:]
	t.chunks[0].Store(&first)
	return t
}

// at finds the slot of an index below used.
func (t *Table[T]) at(index uint32) *slot[T] {
	position := uint64(index) + firstChunk
	chunk := bits.Len64(position) - 1 - firstChunkBits
	slots := *t.chunks[chunk].Load()
	return &slots[position-firstChunk<<chunk]
}

// Insert gives out a new handle for the value. A table that has no handle left
// to give is CodeResourceExhausted.
func (t *Table[T]) Insert(value T) (uint64, error) {
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
	s.live.Store(&tenant[T]{id: id, value: value})
	t.live.Add(1)
	return id, nil
}

// takeSlot picks a slot with no tenant and a generation left. The caller holds t.mu.
func (t *Table[T]) takeSlot() (uint32, error) {
	if last := len(t.free) - 1; last >= 0 {
		index := t.free[last]
		t.free = t.free[:last]
		return index, nil
	}
	used := t.used.Load()
	if used >= t.capacity {
		return 0, device.Errorf(device.CodeResourceExhausted, "handle.insert",
			"no %s handle is left: all %d slots are in use or used up", t.kind, used)
	}
	chunk := bits.Len64(used+firstChunk) - 1 - firstChunkBits
	if t.chunks[chunk].Load() == nil {
		slots := make([]slot[T], firstChunk<<chunk)
		t.chunks[chunk].Store(&slots)
	}
	// Published after the chunk: a reader that sees the count finds the slot.
	t.used.Store(used + 1)
	return uint32(used), nil
}

// Get finds the value of a live handle. Anything else is CodeInvalidHandle,
// with a message that says whether the handle is 0, of another kind, destroyed
// or never given out.
func (t *Table[T]) Get(id uint64) (T, error) {
	if value, ok := t.Near(id); ok {
		return value, nil
	}
	return t.getFar(id)
}

// Near is Get for calls that have to be short: it may miss a live handle, and
// then Get knows better.
func (t *Table[T]) Near(id uint64) (value T, ok bool) {
	// A handle of another chunk is not equal to the one that is there.
	found := t.first[id%firstChunk].live.Load()
	if found == nil || found.id != id {
		return value, false
	}
	return found.value, true
}

// getFar is Get for a handle that is not in the first chunk.
func (t *Table[T]) getFar(id uint64) (T, error) {
	if KindOf(id) == t.kind && uint64(indexOf(id)) < t.used.Load() {
		if found := t.at(indexOf(id)).live.Load(); found != nil && found.id == id {
			return found.value, nil
		}
	}
	var none T
	return none, t.explain("handle.get", id)
}

// Remove takes a live handle out for good and returns its value; errors as for
// Get. Of several callers with one handle, one succeeds.
func (t *Table[T]) Remove(id uint64) (T, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	value, err := t.Get(id)
	if err != nil {
		return value, err
	}
	index := indexOf(id)
	t.at(index).live.Store(nil)
	t.live.Add(-1)
	if generationOf(id) < generationMax {
		t.free = append(t.free, index)
	}
	return value, nil
}

// Len is the number of live handles.
func (t *Table[T]) Len() int { return int(t.live.Load()) }

// Each visits the live handles in order of their slots until visit returns
// false. A handle that comes or goes meanwhile is visited or not. visit may call
// the table.
func (t *Table[T]) Each(visit func(id uint64, value T) bool) {
	used := t.used.Load()
	for index := range used {
		found := t.at(uint32(index)).live.Load()
		if found != nil && !visit(found.id, found.value) {
			return
		}
	}
}

// Scan is Each for so many slots, from one on, and gives the slot to go on from. No
// more are left when that is not beyond from.
func (t *Table[T]) Scan(from, slots uint64, visit func(id uint64, value T)) (next uint64) {
	used := t.used.Load()
	if from >= used {
		return from
	}
	next = from + min(slots, used-from)
	for index := from; index < next; index++ {
		if found := t.at(uint32(index)).live.Load(); found != nil {
			visit(found.id, found.value)
		}
	}
	return next
}

// explain says why id is not a live handle of this table.
func (t *Table[T]) explain(op string, id uint64) error {
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
		"%s handle %#x was never given out", t.kind, id)
}
