package offheap

import (
	"reflect"
	"unsafe"
)

// Table is the memory of one slice of items, which its owner stores. The zero Table has
// no memory. It is not safe for concurrent use, and must not be copied after it has
// grown.
type Table[T any] struct{ memory }

// Grow extends the capacity of items to at least want. items is nil at first and later
// the slice from this table. Its length does not change, and items that were never used
// are 0. Afterwards only items may be used, and no slices or pointers taken from it
// before. It returns CodeResourceExhausted, and then nothing has changed.
func (t *Table[T]) Grow(items *[]T, want int) error {
	t.expect(unsafe.Pointer(unsafe.SliceData(*items)))
	if want > t.room {
		if t.base == nil {
			refusePointers(reflect.TypeFor[T]())
		}
		if err := t.grow(layoutOf(*items), want); err != nil {
			return err
		}
	}
	t.give(items)
	return nil
}

// give sets items to the table's memory. The length stays.
func (t *Table[T]) give(items *[]T) {
	*items = unsafe.Slice((*T)(t.base), t.room)[:len(*items)]
}

// Share moves a table that is not empty to its own pages, even if it is small, and
// returns their address. Until the next Grow or Free, C code may read and write the
// items there, while Go code does not. Afterwards only items may be used, as with Grow.
// false: this build has no such pages, or there is no memory for them; nothing has
// changed.
func (t *Table[T]) Share(items *[]T) (address uint64, ok bool) {
	if t.bytes == 0 {
		if !Pages || t.base == nil || t.toPages(layoutOf(*items), 1) != nil {
			return 0, false
		}
		t.give(items)
	}
	return uint64(uintptr(t.base)), true
}

// Leaves returns CodeResourceExhausted if the system would not provide that many more
// bytes after the table has grown to want items. It does not check tables of up to 1
// MiB.
func (t *Table[T]) Leaves(want, bytes int) error {
	return t.leaves(t.Bytes(), layoutOf[T](nil).size, want, bytes)
}

// Free frees the memory. Afterwards items is nil and the table is empty.
func (t *Table[T]) Free(items *[]T) {
	t.free(unsafe.Pointer(unsafe.SliceData(*items)))
	*items = nil
}

// Detached is memory that was detached from tables.
type Detached []func()

// Free frees the memory.
func (d Detached) Free() {
	for _, free := range d {
		free()
	}
}

// Detach detaches the memory from the table; the caller frees it later. Freeing many
// pages takes the system long, and nobody should hold the table's lock during that
// time. Afterwards items is nil and the table is empty.
func (t *Table[T]) Detach(items *[]T) (free func()) {
	was, had := *t, *items
	*t, *items = Table[T]{}, nil
	return func() { was.Free(&had) }
}

// Bytes returns the size of the table's memory.
func (t *Table[T]) Bytes() int {
	if t.bytes != 0 {
		return t.bytes
	}
	return t.room * layoutOf[T](nil).size
}

// refusePointers panics for a type that contains pointers, because the garbage
// collector does not scan this memory.
func refusePointers(t reflect.Type) {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
	case reflect.Array:
		refusePointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			refusePointers(t.Field(i).Type)
		}
	default:
		panic("offheap: an item has a " + t.String() + ", which is or has a pointer")
	}
	if t.Size() == 0 {
		panic("offheap: a " + t.String() + " has no size")
	}
}
