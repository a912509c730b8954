package fallback

import (
	"math"

	"ferrum_mem/core/device"
)

// Heap is Storage on the Go heap, for the CPU side of a FallbackBuffer without an
// engine.
type Heap struct{}

// Alloc allocates zeroed bytes. It returns CodeOverflow for more than a slice can have.
func (Heap) Alloc(bytes uint64) ([]byte, error) {
	if bytes > math.MaxInt {
		return nil, device.Errorf(device.CodeOverflow, "fallback.heap", "size_bytes %d is more than a slice has", bytes)
	}
	return make([]byte, bytes), nil
}

// Bytes returns the length.
func (Heap) Bytes(storage []byte) uint64 { return uint64(len(storage)) }

// Release leaves the bytes to the garbage collector.
func (Heap) Release([]byte) error { return nil }
