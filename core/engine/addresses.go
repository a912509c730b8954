package engine

// ReserveAddresses reserves address space at a multiple of align, and counts it.
// Errors are those of device.VirtualMemory.
func (e *Engine) ReserveAddresses(size, align uint64) (Segment, error) {
	virtual, err := e.VirtualMemory()
	if err != nil {
		return Segment{}, err
	}
	addr, err := virtual.Reserve(size, align)
	if err != nil {
		return Segment{}, err
	}
	e.addressBytes.Add(size)
	return Segment{Addr: addr, SizeBytes: size}, nil
}

// ReleaseAddresses gives back what ReserveAddresses gave. When that fails it is
// still reserved.
func (e *Engine) ReleaseAddresses(space Segment) error {
	virtual, err := e.VirtualMemory()
	if err != nil {
		return err
	}
	if err := virtual.Unreserve(space.Addr, space.SizeBytes); err != nil {
		return err
	}
	e.addressBytes.Add(-space.SizeBytes)
	return nil
}

// DiscardAddresses is ReleaseAddresses for addresses that nothing is mapped at and
// nobody keeps track of. When the device does not take them now, the engine tries
// again later.
func (e *Engine) DiscardAddresses(space Segment) {
	e.discards.discard(func() error { return e.ReleaseAddresses(space) })
}

// AddressBytes is how much address space of ReserveAddresses is not given back.
func (e *Engine) AddressBytes() uint64 { return e.addressBytes.Load() }
