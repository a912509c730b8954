package device

// StreamOrdered is the capability of a device whose runtime has a pool from which
// segments can be allocated. Info().StreamOrdered states whether the open device has
// it. Without it every call returns CodeUnsupported. All methods are safe for
// concurrent use.
//
// Freeing such a segment does not wait for work that does not use it; Free may wait for
// such work.
type StreamOrdered interface {
	// AllocOrdered is Alloc from that pool. The segment can be used at once, in any
	// stream.
	AllocOrdered(size uint64) (Addr, error)
	// FreeOrdered releases exactly what one AllocOrdered returned, like Free. The pool
	// keeps none of the memory.
	FreeOrdered(addr Addr, size uint64) error
}
