package offheap

import (
	"unsafe"

	"ferrum_mem/core/device"
)

// hugeBytes is the size of a huge page.
const hugeBytes = 2 << 20

// Block is memory of one size for bytes that are copied in and out as a whole. It uses
// huge pages if the system has them, because filling and freeing them costs a fraction
// of the cost of small pages. It has no spare capacity and does not grow. It is not
// safe for concurrent use.
type Block struct {
	items []byte
	// pages is the length of its pages; 0: it is on the Go heap.
	pages int
}

// NewBlock allocates a zeroed block. Errors: CodeInvalidSize for a size that is not
// above 0, CodeResourceExhausted.
func NewBlock(bytes int) (*Block, error) {
	const op = "offheap.new_block"
	if bytes <= 0 {
		return nil, device.Errorf(device.CodeInvalidSize, op, "%v: must be above 0", device.Size(bytes))
	}
	if bytes > maxBytes {
		return nil, device.Errorf(device.CodeResourceExhausted, op,
			"%v are more than the %v that are possible", device.Size(bytes), device.Size(maxBytes))
	}
	if !mapped(bytes) {
		return &Block{items: make([]byte, bytes)}, nil
	}
	pages := roundToPages(bytes)
	if err := admit(pages); err != nil {
		return nil, err
	}
	base, err := mapHuge(pages)
	if err != nil {
		release(pages)
		return nil, device.Errorf(device.CodeResourceExhausted, op, "the system did not provide %v: %w", device.Size(pages), err)
	}
	return &Block{items: unsafe.Slice((*byte)(base), bytes), pages: pages}, nil
}

// Bytes returns the memory. It must not be used after Free.
func (b *Block) Bytes() []byte { return b.items }

// Free frees the memory; the block has none afterwards.
func (b *Block) Free() {
	if b.pages != 0 {
		unmap(unsafe.Pointer(unsafe.SliceData(b.items)), b.pages)
		release(b.pages)
	}
	*b = Block{}
}
