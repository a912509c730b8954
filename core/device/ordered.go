package device

// StreamOrdered is the capability of a device whose runtime has a pool of its own,
// from which segments can be taken too; Info().StreamOrdered says whether the open
// device has it, and without it every call is CodeUnsupported. All methods are safe for
// concurrent use.
//
// Giving a segment back does not wait for work of the device that does not use it, as
// Free may.
type StreamOrdered interface {
	// AllocOrdered is Alloc from that pool. The segment can be used at once, in
	// any stream.
	AllocOrdered(size uint64) (Addr, error)
	// FreeOrdered gives back exactly what one AllocOrdered returned, as Free does, and
	// the pool keeps none of it.
	FreeOrdered(addr Addr, size uint64) error
}
