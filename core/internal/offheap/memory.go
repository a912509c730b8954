package offheap

import (
	"math"
	"unsafe"

	"ferrum_mem/core/device"
)

// memory is the memory of a Table, without the type of its items: the code exists once for
// all types.
type memory struct {
	base unsafe.Pointer
	// room is the number of items that fit into the memory. bytes is the length of its
	// pages; 0: it is on the Go heap.
	room, bytes int
}

// layout states the size of an item, and how many items a table has.
type layout struct{ size, used int }

func layoutOf[T any](items []T) layout {
	var item T
	return layout{size: int(unsafe.Sizeof(item)), used: len(items)}
}

// expect panics if the slice of the owner is not in this memory.
func (m *memory) expect(base unsafe.Pointer) {
	if base != m.base {
		panic("offheap: the slice is not the table's")
	}
}

// grow extends the memory to want items, which is more than it has room for.
func (m *memory) grow(of layout, want int) error {
	if want > maxBytes/of.size {
		return device.Errorf(device.CodeResourceExhausted, opGrow,
			"a table of %d items of %v is longer than the %v that are possible", want, device.Size(of.size), device.Size(maxBytes))
	}
	bytes := max(want*of.size, nextBytes(m.room*of.size))
	if mapped(bytes) {
		return m.toPages(of, bytes)
	}
	// Words have the alignment that every type without pointers needs.
	const word = int(unsafe.Sizeof(uint64(0)))
	larger := unsafe.Pointer(unsafe.SliceData(make([]uint64, (bytes+word-1)/word)))
	m.copyTo(larger, of)
	m.base, m.room = larger, bytes/of.size
	return nil
}

// copyTo copies the used items.
func (m *memory) copyTo(to unsafe.Pointer, of layout) {
	bytes := of.used * of.size
	copy(unsafe.Slice((*byte)(to), bytes), unsafe.Slice((*byte)(m.base), bytes))
}

// toPages moves the items to pages of that many bytes, rounded up.
func (m *memory) toPages(of layout, bytes int) error {
	bytes = roundToPages(bytes)
	base, err := m.extend(bytes)
	if err != nil {
		return err
	}
	if m.bytes == 0 {
		m.copyTo(base, of)
	}
	m.base, m.room, m.bytes = base, bytes/of.size, bytes
	return nil
}

// extend extends the pages to that many bytes.
func (m *memory) extend(bytes int) (unsafe.Pointer, error) {
	if err := admit(bytes - m.bytes); err != nil {
		return nil, err
	}
	base, err := remap(m.base, m.bytes, bytes)
	if err != nil {
		release(bytes - m.bytes)
		return nil, device.Errorf(device.CodeResourceExhausted, opGrow,
			"the system did not provide %v for a table of %v: %w", device.Size(bytes), device.Size(m.bytes), err)
	}
	return base, nil
}

// free frees the memory, which is then empty.
func (m *memory) free(base unsafe.Pointer) {
	m.expect(base)
	if m.bytes != 0 {
		unmap(m.base, m.bytes)
		release(m.bytes)
	}
	*m = memory{}
}

// freelyBytes is the size up to which a table may grow without a check of the memory
// that remains.
const freelyBytes = 1 << 20

// leaves is Table.Leaves for memory of had bytes with items of that size.
func (m *memory) leaves(had, size, want, bytes int) error {
	wanted := max(min(want, maxBytes/size)*size, nextBytes(had))
	if wanted <= freelyBytes {
		return nil
	}
	return probe(wanted - had + bytes)
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
