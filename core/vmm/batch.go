package vmm

import (
	"time"

	"ferrum_mem/core/device"
)

// Many ranges in one call. All are checked before the first one is touched, their pages are
// charged as one sum, and one failure takes all back.

// BatchRequest is what the allocations of a batch have in common: the fields of AllocRequest.
type BatchRequest struct {
	Tag    string
	Stream device.Stream
	Wait   time.Duration
}

func (r *BatchRequest) placing(op string, ranges []ByteRange) placing {
	return placing{op: op, targets: listOf(ranges), tag: r.Tag, stream: r.Stream, wait: r.Wait}
}

// AllocBatch is AllocTagged for each range of a list: for all, or none. Each becomes an
// allocation of its own. The order of the list has no meaning, and an empty one does nothing.
// An error that is about one range names it by its index. Errors: those of AllocTagged, and
// CodeInvalidOffset for two ranges with a page in common.
func (p *Pool) AllocBatch(ranges []ByteRange, r BatchRequest) error {
	if len(ranges) == 0 {
		return nil
	}
	return p.allocate(r.placing("allocate", ranges))
}

// FreeBatch is Free for each range of a list: for all, or none. A range waits for the
// streams that use it and not for those that use another. Errors: those of Free, and
// CodeInvalidOffset for two ranges with a page in common.
func (p *Pool) FreeBatch(ranges []ByteRange, stream device.Stream) error {
	if len(ranges) == 0 {
		return nil
	}
	return p.space.deallocate("deallocate", listOf(ranges), stream)
}

// AllocBatch is Pool.AllocBatch for a model. The pages of all ranges are one order: it has
// one turn in the line, and what is missing is asked for once. Errors: those of AllocTaggedAt,
// and CodeInvalidOffset for two ranges with a page in common.
func (m *Model) AllocBatch(ranges []ByteRange, r BatchRequest) error {
	if len(ranges) == 0 {
		return nil
	}
	_, err := m.allocate(r.placing("alloc", ranges))
	return err
}

// FreeBatch is Pool.FreeBatch for a model; CodeModelNotFound when it is unregistered.
func (m *Model) FreeBatch(ranges []ByteRange, stream device.Stream) error {
	if len(ranges) == 0 {
		return nil
	}
	return m.free(listOf(ranges), stream)
}
