package vmm

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
)

// RecordStream records that a stream (nil: the default stream) also uses every page
// that a range touches, in addition to the stream of the allocation. When the pages are
// freed, they also wait for the work that is queued on that stream at the time of the
// free. The range may be a part of an allocation, or span several. Errors:
// CodeInvalidSize, CodeInvalidOffset for a range that ends outside the pool,
// CodeNotMapped with the first page that is not mapped, CodeInvalidState for a page
// that is asleep, CodeBusy for a page that is being put to sleep or woken. A failed
// call changes nothing.
func (p *Pool) RecordStream(offset, size uint64, stream device.Stream) error {
	return p.space.recordStream("record_stream", extent.Span{Offset: offset, Size: size}, stream)
}

// RecordStream is Pool.RecordStream for a model. It returns CodeModelNotFound when the
// model is unregistered.
func (m *Model) RecordStream(offset, size uint64, stream device.Stream) error {
	const op = "record_stream"
	err := m.space.recordStream(op, extent.Span{Offset: offset, Size: size}, stream)
	if err == nil {
		return nil
	}
	return m.goneInsteadOf(op, err)
}

func (s *space) recordStream(op string, b extent.Span, stream device.Stream) error {
	r, err := s.table.extent.RunOf(op, b)
	if err != nil {
		return err
	}
	s.mu.Lock()
	err = s.table.mayRecord(op, b, r)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	s.table.users.Add(r, stream)
	many := s.table.users.Most(r)
	s.mu.Unlock()
	if many >= manyUsers && many&(many-1) == 0 {
		s.forgetClosed(r)
	}
	return nil
}

// mayRecord returns an error if the users of a range cannot be changed. The caller
// holds mu.
func (t *pageTable) mayRecord(op string, b extent.Span, r pageset.Run) error {
	if t.state != stateOpen {
		return t.extent.Closed(op)
	}
	if err := t.shiftingNow(op, b, r); err != nil {
		return err
	}
	page, hole := t.live.FirstNotIn(r)
	switch {
	case !hole:
		return nil
	case t.asleep.Has(page):
		return t.extent.Fault(device.CodeInvalidState, op, "offset %d, size %d: the page at offset %d is asleep, so no stream can use it",
			b.Offset, b.Size, page*t.extent.PageBytes)
	}
	return t.extent.BadPage(device.CodeNotMapped, op, page, b)
}

// manyUsers is the number of streams of one page at which closed streams are removed,
// and again each time the number has doubled. It bounds the list of a long-lived range
// whose streams are created and destroyed.
const manyUsers = 16

// forgetClosed removes closed streams from the users of a range. A closed stream has no
// queued work.
func (s *space) forgetClosed(r pageset.Run) {
	s.mu.Lock()
	streams := s.table.users.Streams(r)
	s.mu.Unlock()
	var closed []device.Stream
	for _, stream := range streams {
		if _, err := stream.Idle(); err != nil && device.IsClosed(stream, err) {
			closed = append(closed, stream)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table.state != stateClosed {
		s.table.users.Drop(r, closed)
	}
}
