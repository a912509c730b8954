package handle

// Table creates handles of one kind. All methods are safe for concurrent use.
type Table[T any] struct{ store store }

// New creates an empty table for handles of the kind.
func New[T any](kind Kind) *Table[T] {
	t := &Table[T]{}
	t.store.init(kind)
	return t
}

// Insert returns a new handle for the value. It returns CodeResourceExhausted if the
// table has no handle left.
func (t *Table[T]) Insert(value T) (uint64, error) { return t.store.insert(value) }

// Get returns the value of a live handle. Otherwise it returns CodeInvalidHandle, with a
// message that states whether the handle is 0, of another kind, destroyed or was never
// created.
func (t *Table[T]) Get(id uint64) (T, error) { return typed[T](t.store.get(id)) }

// Near is Get for calls that have to be short. It may miss a live handle; then Get finds
// it.
func (t *Table[T]) Near(id uint64) (value T, ok bool) {
	found, ok := t.store.near(id)
	if !ok {
		return value, false
	}
	return found.(T), true
}

// Remove removes a live handle and returns its value. The handle is never used again.
// Errors: those of Get. If several callers remove one handle, one of them succeeds.
func (t *Table[T]) Remove(id uint64) (T, error) { return typed[T](t.store.remove(id)) }

// Len returns the number of live handles.
func (t *Table[T]) Len() int { return int(t.store.live.Load()) }

// Each visits the live handles in the order of their slots until visit returns false. A
// handle that is inserted or removed meanwhile is visited or not. visit may call the
// table.
func (t *Table[T]) Each(visit func(id uint64, value T) bool) {
	used := t.store.used.Load()
	for index := range used {
		found := t.store.entryAt(index)
		if found != nil && !visit(found.id, found.value.(T)) {
			return
		}
	}
}

// Scan is Each for the given number of slots, beginning at from. It returns the slot
// where the next call continues. There are no more handles when the result is not above
// from.
func (t *Table[T]) Scan(from, slots uint64, visit func(id uint64, value T)) (next uint64) {
	used := t.store.used.Load()
	if from >= used {
		return from
	}
	next = from + min(slots, used-from)
	for index := from; index < next; index++ {
		if found := t.store.entryAt(index); found != nil {
			visit(found.id, found.value.(T))
		}
	}
	return next
}

// typed converts a value of the store, which has values of one type only.
func typed[T any](value any, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return value.(T), nil
}
