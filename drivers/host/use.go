package host

import (
	"errors"

	"ferrum_mem/core/device"
)

// held is what a queued operation holds on to until it has run.
type held interface{ Release() }

// acquire finds the segment, or the pages, that hold the whole range and counts an
// operation in flight on them. Pages must have the access.
func (o *openDevice) acquire(op, what string, addr device.Addr, size uint64, need device.Access) (held, error) {
	if pages, known, err := o.virtual.Acquire(op, what, addr, size, need); err != nil {
		return nil, err
	} else if known {
		return pages, nil
	}
	found, err := o.segments.acquire(op, what, addr, size)
	if errors.Is(err, device.CodeInvalidAddress) {
		// Memory of others comes last: where its owner has given it back all the same,
		// the system may have given the addresses to this device since.
		if foreign, foreignErr := o.foreign.acquire(op, what, addr, size); foreignErr == nil {
			if err := o.checkThere(op, uint64(addr), size); err != nil {
				foreign.Release()
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
