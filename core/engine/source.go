package engine

import "ferrum_mem/core/device"

// Has returns CodeUnsupported if the device lacks that source.
func (e *Engine) Has(s Source) error {
	has := true
	switch s {
	case SourcePinned:
		_, has = e.dev.(device.PinnedHost)
		has = has && e.info.PinnedHost
	case SourceManaged:
		_, has = e.dev.(device.Managed)
		has = has && e.info.Managed
	case SourceOrdered:
		_, has = e.dev.(device.StreamOrdered)
		has = has && e.info.StreamOrdered
	}
	if !has {
		return device.Errorf(device.CodeUnsupported, "engine.source",
			"the device %q has no %v", e.info.Name, s).On(e.ID())
	}
	return nil
}

// Holds reports whether memory of a source counts as held from the device, against its
// limit. Host memory counts if it is the device's own memory. Managed memory does not
// count, because it is on the device only while it is used there.
func (e *Engine) Holds(s Source) bool {
	return s == SourceDevice || s == SourceOrdered || e.info.HostAddressable
}

func (e *Engine) allocate(size uint64, from Source) (Segment, error) {
	if err := e.Has(from); err != nil {
		return Segment{}, err
	}
	made, err := device.PinnedMemory{}, error(nil)
	switch from {
	case SourcePinned:
		made, err = e.dev.(device.PinnedHost).AllocPinned(size)
	case SourceManaged:
		made, err = e.dev.(device.Managed).AllocManaged(size)
	case SourceOrdered:
		made.Addr, err = e.dev.(device.StreamOrdered).AllocOrdered(size)
	default:
		made.Addr, err = e.dev.Alloc(size)
	}
	e.NoteRefusal(err)
	return Segment{Addr: made.Addr, SizeBytes: size, HostAddr: made.HostAddr, Source: from}, err
}

func (e *Engine) free(s Segment) error {
	if err := e.Has(s.Source); err != nil {
		return err
	}
	switch s.Source {
	case SourcePinned:
		return e.dev.(device.PinnedHost).FreePinned(s.Addr, s.SizeBytes)
	case SourceManaged:
		return e.dev.(device.Managed).FreeManaged(s.Addr, s.SizeBytes)
	case SourceOrdered:
		return e.dev.(device.StreamOrdered).FreeOrdered(s.Addr, s.SizeBytes)
	default:
		return e.dev.Free(s.Addr, s.SizeBytes)
	}
}
