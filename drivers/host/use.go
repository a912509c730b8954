package host

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/streams"
)

// Acquire finds the segment or the pages that contain the whole range, and counts an
// operation in flight on them. Pages must have the access.
func (o *openDevice) Acquire(op, what string, addr device.Addr, size uint64, need device.Access) (streams.Held, error) {
	if pages, known, err := o.virtual.Acquire(op, what, addr, size, need); err != nil {
		return nil, err
	} else if known {
		return pages, nil
	}
	found, err := o.Allocator.Acquire(op, what, addr, size)
	if err == nil {
		return found, nil
	}
	if errors.Is(err, device.CodeInvalidAddress) {
		// External memory is checked last. If its owner has released it, the system may
		// have given the addresses to this device since.
		if theirs, known, theirErr := o.foreign.Acquire(op, what, addr, size, need); theirErr != nil {
			return nil, theirErr
		} else if known {
			return theirs, nil
		}
	}
	return nil, err
}
