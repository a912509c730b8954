package offheap

import (
	"math"
	"reflect"
	"unsafe"

	"ferrum_mem/core/device"
)

// Table is the memory of one slice of items, which its owner stores. The zero Table has
// no memory. It is not safe for concurrent use, and must not be copied after it has
// grown.
type Table[T any] struct {
	base *T
	// room is the number of items that fit into the memory. bytes is the length of its
	// pages; 0: it is on the Go heap.
	room, bytes int
}

// Grow extends the capacity of items to at least want. items is nil at first and later
// the slice from this table. Its length does not change, and items that were never used
// are 0. Afterwards only items may be used, and no slices or pointers taken from it
// before. It returns CodeResourceExhausted, and then nothing has changed.
func (t *Table[T]) Grow(items *[]T, want int) error {
	if unsafe.SliceData(*items) != t.base {
		panic("offheap: the slice is not the table's")
	}
	if want <= t.room {
		*items = unsafe.Slice(t.base, t.room)[:len(*items)]
		return nil
	}
	size := int(unsafe.Sizeof(*t.base))
	if t.base == nil {
		refusePointers(reflect.TypeFor[T]())
	}
	if want > maxBytes/size {
		return device.Errorf(device.CodeResourceExhausted, opGrow,
			"a table of %d items of %v is longer than the %v that are possible", want, device.Size(size), device.Size(maxBytes))
	}
	bytes := max(want*size, nextBytes(t.room*size))
	if !mapped(bytes) {
		larger := make([]T, len(*items), bytes/size)
		copy(larger, *items)
		t.base, t.room, *items = unsafe.SliceData(larger), cap(larger), larger
		return nil
	}
	return t.toPages(items, bytes)
}

// toPages moves the table to pages of that many bytes, rounded up.
func (t *Table[T]) toPages(items *[]T, bytes int) error {
	bytes = roundToPages(bytes)
	base, err := t.extend(bytes)
	if err != nil {
		return err
	}
	used := len(*items)
	if t.bytes == 0 {
		copy(unsafe.Slice(base, used), *items)
	}
	t.base, t.room, t.bytes = base, bytes/int(unsafe.Sizeof(*t.base)), bytes
	*items = unsafe.Slice(base, t.room)[:used]
	return nil
}

// Share moves a table that is not empty to its own pages, even if it is small, and
// returns their address. Until the next Grow or Free, C code may read and write the
// items there, while Go code does not. Afterwards only items may be used, as with Grow.
// false: this build has no such pages, or there is no memory for them; nothing has
// changed.
func (t *Table[T]) Share(items *[]T) (address uint64, ok bool) {
	if t.bytes == 0 {
		if !Pages || t.base == nil || t.toPages(items, 1) != nil {
			return 0, false
		}
	}
	return uint64(uintptr(unsafe.Pointer(t.base))), true
}

// freelyBytes is the size up to which a table may grow without a check of the memory
// that remains.
const freelyBytes = 1 << 20

// Leaves returns CodeResourceExhausted if the system would not provide that many more
// bytes after the table has grown to want items. It does not check tables of up to 1
// MiB.
func (t *Table[T]) Leaves(want, bytes int) error {
	had, size := t.Bytes(), int(unsafe.Sizeof(*t.base))
	wanted := max(min(want, maxBytes/size)*size, nextBytes(had))
	if wanted <= freelyBytes {
		return nil
	}
	return probe(wanted - had + bytes)
}

// extend extends the table's pages to that many bytes.
func (t *Table[T]) extend(bytes int) (*T, error) {
	if err := admit(bytes - t.bytes); err != nil {
		return nil, err
	}
	base, err := remap(unsafe.Pointer(t.base), t.bytes, bytes)
	if err != nil {
		release(bytes - t.bytes)
		return nil, device.Errorf(device.CodeResourceExhausted, opGrow,
			"the system did not provide %v for a table of %v: %w", device.Size(bytes), device.Size(t.bytes), err)
	}
	return (*T)(base), nil
}

// Free frees the memory. Afterwards items is nil and the table is empty.
func (t *Table[T]) Free(items *[]T) {
	if unsafe.SliceData(*items) != t.base {
		panic("offheap: the slice is not the table's")
	}
	if t.bytes != 0 {
		unmap(unsafe.Pointer(t.base), t.bytes)
		release(t.bytes)
	}
	*t, *items = Table[T]{}, nil
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
	return t.room * int(unsafe.Sizeof(*t.base))
}

// maxBytes prevents overflows in computations.
const maxBytes = math.MaxInt / 4

// nextBytes returns the smallest size to which a table grows: twice its size while it
// is small, then an eighth more. A larger step would only waste memory, because growth
// copies nothing.
func nextBytes(bytes int) int {
	if bytes < smallBytes {
		return 2 * bytes
	}
	return bytes + bytes/8
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
