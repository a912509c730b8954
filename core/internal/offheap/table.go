package offheap

import (
	"math"
	"reflect"
	"unsafe"

	"ferrum_mem/core/device"
)

// Table is the memory of one slice of items, which its owner keeps. The zero
// Table has none. It is not safe for concurrent use, and not to be copied once it
// has grown.
type Table[T any] struct {
	base *T
	// room is how many items the memory holds, and bytes the length of its pages;
	// 0: it is on the Go heap.
	room, bytes int
}

// Grow gives items, which is nil at first and the slice that this table made from
// then on, room for at least want items. Their number stays as it is, and all
// that was never in use is 0. Only items may be used afterwards, none of the
// slices or pointers that were taken from it. Errors: CodeResourceExhausted, when
// nothing has changed.
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
			"a table of %d items of %d bytes is longer than the %d bytes that are possible", want, size, maxBytes)
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

// toPages gives the table so many bytes of pages, rounded up.
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

// Share gives a table that is not empty pages of its own, however small it is, and says
// where they are: until the next Grow or Free, code outside of Go may read and write the
// items there, while nobody here does. Only items may be used afterwards, as with Grow.
// false: this build has no such pages, or there is no memory for them; nothing has changed.
func (t *Table[T]) Share(items *[]T) (address uint64, ok bool) {
	if t.bytes == 0 {
		if !Pages || t.base == nil || t.toPages(items, 1) != nil {
			return 0, false
		}
	}
	return uint64(uintptr(unsafe.Pointer(t.base))), true
}

// freelyBytes is how long a table may grow without a look at what it leaves.
const freelyBytes = 1 << 20

// Leaves fails where the system would not give the process so many bytes more after the
// table has grown to want items: CodeResourceExhausted. A table of up to 1 MiB is not
// looked at.
func (t *Table[T]) Leaves(want, bytes int) error {
	had, size := t.Bytes(), int(unsafe.Sizeof(*t.base))
	wanted := max(min(want, maxBytes/size)*size, nextBytes(had))
	if wanted <= freelyBytes {
		return nil
	}
	return probe(wanted - had + bytes)
}

// extend gives the table pages of so many bytes in all.
func (t *Table[T]) extend(bytes int) (*T, error) {
	if err := admit(bytes - t.bytes); err != nil {
		return nil, err
	}
	base, err := remap(unsafe.Pointer(t.base), t.bytes, bytes)
	if err != nil {
		release(bytes - t.bytes)
		return nil, device.Errorf(device.CodeResourceExhausted, opGrow,
			"the system gives no %d bytes for a table of %d: %w", bytes, t.bytes, err)
	}
	return (*T)(base), nil
}

// Free gives the memory back. items is nil afterwards, and the table as new.
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

// Detached is the memory of tables that are as new by now.
type Detached []func()

// Free gives the memory back.
func (d Detached) Free() {
	for _, free := range d {
		free()
	}
}

// Detach takes the memory out of the table, as Free does, and leaves it to the caller to
// give it back: what has many pages takes the system its time, in which nobody should
// wait for the table's lock. items is nil afterwards, and the table as new.
func (t *Table[T]) Detach(items *[]T) (free func()) {
	was, had := *t, *items
	*t, *items = Table[T]{}, nil
	return func() { was.Free(&had) }
}

// Bytes is how much memory the table has.
func (t *Table[T]) Bytes() int {
	if t.bytes != 0 {
		return t.bytes
	}
	return t.room * int(unsafe.Sizeof(*t.base))
}

// maxBytes leaves room to compute with.
const maxBytes = math.MaxInt / 4

// nextBytes is what a table grows to at least: twice as much while it is small,
// then an eighth more. The slack would cost more than the copies, which there are
// none of.
func nextBytes(bytes int) int {
	if bytes < smallBytes {
		return 2 * bytes
	}
	return bytes + bytes/8
}

// refusePointers panics for a type that the garbage collector has to look into.
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
