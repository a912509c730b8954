package vmm

import (
	"time"

	"ferrum_mem/core/device"
)

// Many ranges in one call. The call checks all ranges before it changes the first,
// charges their pages as one sum, and undoes all if one fails.

// BatchRequest has the common settings of the allocations of a batch: the fields of
// AllocRequest.
type BatchRequest struct {
	Tag    string
	Stream device.Stream
	Wait   time.Duration
}

func (r *BatchRequest) placing(op string, ranges []ByteRange) placing {
	return placing{op: op, targets: listOf(ranges), tag: r.Tag, stream: r.Stream, wait: r.Wait}
}

// AllocBatch is AllocTagged for each range of a list: for all, or none. Each becomes a
// separate allocation. The order of the list has no meaning, and an empty list does
// nothing. An error about one range names it by its index. Errors: those of
// AllocTagged, and CodeInvalidOffset for two ranges with a page in common.
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

// AllocBatch is Pool.AllocBatch for a model. The pages of all ranges are one order: it
// waits in the queue once, and missing pages are requested once. Errors: those of
// AllocTaggedAt, and CodeInvalidOffset for two ranges with a page in common.
func (m *Model) AllocBatch(ranges []ByteRange, r BatchRequest) error {
	if len(ranges) == 0 {
		return nil
	}
	_, err := m.allocate(r.placing("alloc", ranges))
	return err
}

// FreeBatch is Pool.FreeBatch for a model. It returns CodeModelNotFound when the model
// is unregistered.
func (m *Model) FreeBatch(ranges []ByteRange, stream device.Stream) error {
	if len(ranges) == 0 {
		return nil
	}
	return m.free(listOf(ranges), stream)
}

// AllocBatchAnywhere is AllocTagged for each size of a list: for all, or none. In the order
// of the list, each range gets the first free run that is long enough. The result has their
// offsets in the same order. The pages of all ranges are one order, as in AllocBatch.
// Errors: those of AllocTagged; an error about one size names it by its index.
func (m *Model) AllocBatchAnywhere(sizes []uint64, r BatchRequest) (offsets []uint64, err error) {
	if len(sizes) == 0 {
		return nil, nil
	}
	p := placing{op: "alloc", targets: sizesOf(sizes), anywhere: true, tag: r.Tag, stream: r.Stream, wait: r.Wait}
	if _, err := m.allocate(p); err != nil {
		return nil, err
	}
	offsets = make([]uint64, len(sizes))
	for _, at := range p.all {
		offsets[at.index] = at.span.Offset
	}
	return offsets, nil
}

// RecordStreamBatch is RecordStream for each range of a list: for all, or none. Errors:
// those of RecordStream, and CodeInvalidOffset for two ranges with a page in common.
func (p *Pool) RecordStreamBatch(ranges []ByteRange, stream device.Stream) error {
	return p.space.recordStreams("record_stream", listOf(ranges), stream)
}

// RecordStreamBatch is Pool.RecordStreamBatch for a model. It returns CodeModelNotFound
// when the model is unregistered.
func (m *Model) RecordStreamBatch(ranges []ByteRange, stream device.Stream) error {
	return m.recordStreams(listOf(ranges), stream)
}
