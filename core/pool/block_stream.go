package pool

import (
	"math"
	"slices"

	"ferrum_mem/core/device"
)

// The stream of a block. A block is of the stream that it was asked for on, and its
// free waits for the work of that stream, whoever frees it and on which one. Most
// blocks are the default stream's: those have number 0, and cost nothing. A segment
// has two bytes a block more from its first block of another stream on.
//
// A number stands for a stream while live blocks of it are in the pool, and then until
// another stream wants a number. Where no number or no memory is to be had, the stream
// is noted as one that RecordStream named.

// maxNumbers bounds the streams that have live blocks by number.
const maxNumbers = math.MaxUint16

// blockStreams are the streams that blocks are of, but for the default one, under
// heap.mu.
type blockStreams struct {
	defaultStream device.Stream
	// named are those that RecordStream named, by block.
	named map[device.Addr][]device.Stream
	// live counts the live blocks that have a number.
	live    uint64
	numbers map[device.Stream]uint16
	// byNumber has the stream of number n at n-1.
	byNumber []numberedStream
	// idle are numbers that came to have no live block; some have one again.
	idle []uint16
	// recent is the number that was asked for last, if any was.
	recent uint16
}

type numberedStream struct {
	stream device.Stream
	live   uint64
	// idle says that the number is listed as such.
	idle bool
}

// numberOf gives a stream its number, or 0 when all are in use.
func (b *blockStreams) numberOf(stream device.Stream) uint16 {
	if b.recent != 0 && b.byNumber[b.recent-1].stream == stream {
		return b.recent
	}
	number, ok := b.numbers[stream]
	if !ok {
		if number = b.newNumber(); number == 0 {
			return 0
		}
		if b.numbers == nil {
			b.numbers = make(map[device.Stream]uint16)
		}
		b.numbers[stream] = number
		b.byNumber[number-1].stream = stream
	}
	b.recent = number
	return number
}

// newNumber is a number that stands for no stream any more, or for none yet.
func (b *blockStreams) newNumber() uint16 {
	for len(b.idle) > 0 {
		number := b.idle[len(b.idle)-1]
		b.idle = b.idle[:len(b.idle)-1]
		former := &b.byNumber[number-1]
		if former.idle = false; former.live == 0 {
			delete(b.numbers, former.stream)
			return number
		}
	}
	if len(b.byNumber) == maxNumbers {
		return 0
	}
	b.byNumber = append(b.byNumber, numberedStream{})
	return uint16(len(b.byNumber))
}

// count adds to the live blocks of a number.
func (b *blockStreams) count(number uint16, blocks uint64) {
	b.live += blocks
	b.byNumber[number-1].live += blocks
}

// uncount takes from the live blocks of a number.
func (b *blockStreams) uncount(number uint16, blocks uint64) {
	b.live -= blocks
	of := &b.byNumber[number-1]
	if of.live -= blocks; of.live == 0 && !of.idle {
		of.idle = true
		b.idle = append(b.idle, number)
	}
}

// liveOf counts the live blocks of a stream that have its number.
func (b *blockStreams) liveOf(stream device.Stream) uint64 {
	if number, ok := b.numbers[stream]; ok {
		return b.byNumber[number-1].live
	}
	return 0
}

// streamAt is the number of the stream that a block is of; 0: the default one.
func (s *segment) streamAt(slot uint32) uint16 {
	if int(slot) < len(s.streams) {
		return s.streams[slot]
	}
	return 0
}

// note notes the stream of a new block, whose slot has none.
func (b *blockStreams) note(l located, stream device.Stream) {
	if stream == nil || stream == b.defaultStream {
		return
	}
	number := b.numberOf(stream)
	if number == 0 || !l.roomForStream() {
		b.record(l, stream)
		return
	}
	l.streams[l.Slot] = number
	b.count(number, 1)
}

// roomForStream has the table of streams reach as far as the others.
func (l located) roomForStream() bool {
	s := l.segment
	if int(l.Slot) < len(s.streams) {
		return true
	}
	if s.streamMemory.Grow(&s.streams, max(int(s.slots), int(l.Slot)+1)) != nil {
		return false
	}
	s.streams = s.streams[:cap(s.streams)]
	return true
}

// forget forgets the stream of a block that dies.
func (b *blockStreams) forget(s *segment, slot uint32) {
	if number := s.streamAt(slot); number != 0 {
		s.streams[slot] = 0
		b.uncount(number, 1)
	}
}

// move makes the streams of a block those of another place.
func (b *blockStreams) move(from, to located) {
	if named, ok := b.named[from.addr()]; ok {
		delete(b.named, from.addr())
		b.named[to.addr()] = named
	}
	if number := from.streamAt(from.Slot); number != 0 {
		stream := b.byNumber[number-1].stream
		b.forget(from.segment, from.Slot)
		b.note(to, stream)
	}
}

// isOf says that a block is of a stream.
func (b *blockStreams) isOf(s *segment, slot uint32, stream device.Stream) bool {
	if number := s.streamAt(slot); number != 0 {
		return b.byNumber[number-1].stream == stream
	}
	return stream == b.defaultStream
}

// allAreOf says that every block of the strategies is of a stream. The caller knows
// that all are live.
func (b *blockStreams) allAreOf(stream device.Stream, segments []*segment) bool {
	if stream == b.defaultStream {
		return b.live == 0
	}
	blocks := uint64(0)
	for _, s := range segments {
		blocks += s.blocks
	}
	return b.liveOf(stream) == blocks
}

// streamFor is the stream that a block is of where a free has to wait for it besides
// its own one; nil: it need not. A free without a stream knows of the default one's
// work. What was a stream of a capture that has ended is that stream again.
func (b *blockStreams) streamFor(l located, freedOn device.Stream) device.Stream {
	number := l.streamAt(l.Slot)
	if number == 0 {
		if freedOn == nil || freedOn == b.defaultStream {
			return nil
		}
		return b.defaultStream
	}
	of := b.byNumber[number-1].stream
	if captured, ok := of.(*branch); ok && captured.IsOver() {
		of = captured.Stream
		if now, ok := freedOn.(*branch); ok && now.Stream == of {
			return nil
		}
	}
	if of == freedOn {
		return nil
	}
	return of
}

// areAll says that no block of the pool waits for a stream but that of its free.
func (b *blockStreams) areAll(freedOn device.Stream) bool {
	return !b.anyNamed() && b.live == 0 && (freedOn == nil || freedOn == b.defaultStream)
}

// anyNamed says that RecordStream has named a stream for a block that is live.
func (b *blockStreams) anyNamed() bool { return len(b.named) > 0 }

// namedFor are the streams that RecordStream named for a block.
func (b *blockStreams) namedFor(l located) []device.Stream { return b.named[l.addr()] }

// linked is how many blocks are of another stream than the default one, and how many
// have streams that RecordStream named, together.
func (b *blockStreams) linked() uint64 { return b.live + uint64(len(b.named)) }

// record notes that a stream uses a live block.
func (b *blockStreams) record(l located, stream device.Stream) {
	if b.named == nil {
		b.named = make(map[device.Addr][]device.Stream)
	}
	if named := b.named[l.addr()]; !slices.Contains(named, stream) {
		b.named[l.addr()] = append(named, stream)
	}
	l.setInfo(l.info() | recordedBit)
}

// forgetAll drops the streams of blocks that have died, and those that RecordStream
// named for them.
func (b *blockStreams) forgetAll(found []located) {
	if b.live > 0 {
		for _, l := range found {
			b.forget(l.segment, l.Slot)
		}
	}
	if !b.anyNamed() {
		return
	}
	for _, l := range found {
		delete(b.named, l.addr())
	}
}
