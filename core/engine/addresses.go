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

// ReleaseAddresses releases the address space of one ReserveAddresses. If it fails the
// address space stays reserved.
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

// DiscardAddresses is ReleaseAddresses for addresses without mapped memory that no
// object records. If the device fails to release them, the engine tries again later.
func (e *Engine) DiscardAddresses(space Segment) {
	e.discards.discard(func() error { return e.ReleaseAddresses(space) })
}

// AddressBytes returns the address space of ReserveAddresses that is not released.
func (e *Engine) AddressBytes() uint64 { return e.addressBytes.Load() }
