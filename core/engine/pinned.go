package engine

import "ferrum_mem/core/device"

// PinnedHost is the capability of the device to have page-locked memory of the
// host; CodeUnsupported where it lacks that.
func (e *Engine) PinnedHost() (device.PinnedHost, error) {
	pinned, ok := e.dev.(device.PinnedHost)
	if !ok || !e.info.PinnedHost {
		return nil, device.Errorf(device.CodeUnsupported, "engine.pinned_host",
			"the device %q has no page-locked memory of the host", e.info.Name).On(e.ID())
	}
	return pinned, nil
}

// Holds says whether memory counts as had from the device, against its limit:
// page-locked memory of the host does where that is the device's own memory.
func (e *Engine) Holds(pinned bool) bool { return !pinned || e.info.HostAddressable }

func (e *Engine) allocate(size uint64, pinned bool) (Segment, error) {
	if !pinned {
		addr, err := e.dev.Allocate(size)
		return Segment{Addr: addr, SizeBytes: size}, err
	}
	host, err := e.PinnedHost()
	if err != nil {
		return Segment{}, err
	}
	made, err := host.AllocatePinned(size)
	return Segment{Addr: made.Addr, SizeBytes: size, HostAddr: made.HostAddr}, err
}

func (e *Engine) free(segment Segment, pinned bool) error {
	if !pinned {
		return e.dev.Free(segment.Addr, segment.SizeBytes)
	}
	host, err := e.PinnedHost()
	if err != nil {
		return err
	}
	return host.FreePinned(segment.Addr, segment.SizeBytes)
}

// uncharge takes a segment out of what is held.
func (e *Engine) uncharge(size uint64, pinned bool) {
	if e.Holds(pinned) {
		e.discharge(size)
	}
}
