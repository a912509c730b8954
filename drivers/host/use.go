package host

import (
	"errors"

	"ferrum_mem/core/device"
)

// held is what a queued operation holds on to until it has run.
type held interface{ release() }

// acquire finds the segment, or the pages, that hold the whole range and counts an
// operation in flight on them. Pages must have the access.
func (o *openDevice) acquire(op, what string, addr device.Addr, size uint64, need device.Access) (held, error) {
	if o.virtual.count.Load() != 0 {
		if found, known, err := o.virtual.acquire(op, what, uint64(addr), size, need); known {
			return found, o.about(err)
		}
	}
	found, err := o.segments.acquire(op, what, addr, size)
	if errors.Is(err, device.CodeInvalidAddress) {
		// Memory of others comes last: where its owner has given it back all the same,
		// the system may have given the addresses to this device since.
		if foreign, foreignErr := o.foreign.acquire(op, what, addr, size); foreignErr == nil {
			if err := o.checkThere(op, uint64(addr), size); err != nil {
				foreign.release()
				return nil, err
			}
			return foreign, nil
		}
	}
	if err != nil {
		return nil, o.about(err)
	}
	return found, nil
}
