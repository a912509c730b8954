package handle

// Table gives out handles of one kind. All methods are safe for concurrent use.
type Table[T any] struct{ store store }

// New makes an empty table for handles of the kind.
func New[T any](kind Kind) *Table[T] {
	t := &Table[T]{}
	t.store.init(kind)
	return t
}

// Insert gives out a new handle for the value. A table that has no handle left
// to give is CodeResourceExhausted.
func (t *Table[T]) Insert(value T) (uint64, error) { return t.store.insert(value) }

// Get finds the value of a live handle. Anything else is CodeInvalidHandle,
// with a message that says whether the handle is 0, of another kind, destroyed
// or never given out.
func (t *Table[T]) Get(id uint64) (T, error) { return typed[T](t.store.get(id)) }

// Near is Get for calls that have to be short: it may miss a live handle, and
// then Get knows better.
func (t *Table[T]) Near(id uint64) (value T, ok bool) {
	found, ok := t.store.near(id)
	if !ok {
		return value, false
	}
	return found.(T), true
}

// Remove takes a live handle out for good and returns its value; errors as for
// Get. Of several callers with one handle, one succeeds.
func (t *Table[T]) Remove(id uint64) (T, error) { return typed[T](t.store.remove(id)) }

// Len is the number of live handles.
func (t *Table[T]) Len() int { return int(t.store.live.Load()) }

// Each visits the live handles in order of their slots until visit returns
// false. A handle that comes or goes meanwhile is visited or not. visit may call
// the table.
func (t *Table[T]) Each(visit func(id uint64, value T) bool) {
	used := t.store.used.Load()
	for index := range used {
		found := t.store.tenantAt(index)
		if found != nil && !visit(found.id, found.value.(T)) {
			return
		}
	}
}

// Scan is Each for so many slots, from one on, and gives the slot to go on from. No
// more are left when that is not beyond from.
func (t *Table[T]) Scan(from, slots uint64, visit func(id uint64, value T)) (next uint64) {
	used := t.store.used.Load()
	if from >= used {
		return from
	}
	next = from + min(slots, used-from)
	for index := from; index < next; index++ {
		if found := t.store.tenantAt(index); found != nil {
			visit(found.id, found.value.(T))
		}
	}
	return next
}

// typed is a value of the store, which holds those of one type alone.
func typed[T any](value any, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return value.(T), nil
}
