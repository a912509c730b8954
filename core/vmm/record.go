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
	return p.space.recordStreams("record_stream", only(extent.Span{Offset: offset, Size: size}), stream)
}

// RecordStream is Pool.RecordStream for a model. It returns CodeModelNotFound when the
// model is unregistered.
func (m *Model) RecordStream(offset, size uint64, stream device.Stream) error {
	return m.recordStreams(only(extent.Span{Offset: offset, Size: size}), stream)
}

func (m *Model) recordStreams(ranges targets, stream device.Stream) error {
	const op = "record_stream"
	err := m.space.recordStreams(op, ranges, stream)
	if err == nil {
		return nil
	}
	return m.goneInsteadOf(op, err)
}

func (s *space) recordStreams(op string, ranges targets, stream device.Stream) error {
	if err := ranges.locate(&s.table.extent, op); err != nil {
		return err
	}
	crowded, err := s.addUser(op, ranges, stream)
	for _, r := range crowded {
		s.forgetClosed(r)
	}
	return err
}

// addUser adds a stream to the users of ranges: of all, or of none. It returns the ranges
// whose users are so many that closed streams should be removed.
func (s *space) addUser(op string, ranges targets, stream device.Stream) (crowded []pageset.Run, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = ranges.each(func(t *target) error { return s.table.mayRecord(op, t.span, t.run) })
	if err != nil {
		return nil, err
	}
	for i := range ranges.all {
		r := ranges.all[i].run
		s.table.users.Add(r, stream)
		if many := s.table.users.Most(r); many >= manyUsers && many&(many-1) == 0 {
			crowded = append(crowded, r)
		}
	}
	return crowded, nil
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
		if device.IsClosed(stream) {
			closed = append(closed, stream)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table.state != stateClosed {
		s.table.users.Drop(r, closed)
	}
}
