package pool

import (
	"math"
	"slices"

	"ferrum_mem/core/device"
)

// The stream of a block. A block belongs to the stream of its request. Its free waits for
// the work of that stream, whichever thread frees it and on whichever stream. Most blocks
// belong to the default stream; they have number 0 and cost nothing. From its first block
// of another stream on, a segment stores two more bytes for each block.
//
// A number stands for a stream while the pool has live blocks of that stream, and after
// that until another stream needs a number. If no number or no memory is available, the
// stream is recorded as if RecordStream had named it.

// maxNumbers is the largest number of streams with live blocks by number.
const maxNumbers = math.MaxUint16

// blockStreams has the streams of the blocks that do not belong to the default stream,
// guarded by heap.mu.
type blockStreams struct {
	defaultStream device.Stream
	// named has the streams that RecordStream named, by block.
	named map[device.Addr][]device.Stream
	// live counts the live blocks that have a number.
	live    uint64
	numbers map[device.Stream]uint16
	// byNumber has the stream of number n at index n-1.
	byNumber []numberedStream
	// idle lists numbers whose last live block was freed. Some of them have live blocks
	// again.
	idle []uint16
	// recent is the number that numberOf returned last; 0 means none.
	recent uint16
}

type numberedStream struct {
	stream device.Stream
	live   uint64
	// idle is set if the number is in blockStreams.idle.
	idle bool
}

// numberOf returns the number of a stream. It assigns one if the stream has none, and
// returns 0 if all numbers are in use.
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

// newNumber returns a number that stands for no stream; 0 if there is none.
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

// uncount subtracts from the live blocks of a number.
func (b *blockStreams) uncount(number uint16, blocks uint64) {
	b.live -= blocks
	of := &b.byNumber[number-1]
	if of.live -= blocks; of.live == 0 && !of.idle {
		of.idle = true
		b.idle = append(b.idle, number)
	}
}

// liveOf returns the number of live blocks that have the number of a stream.
func (b *blockStreams) liveOf(stream device.Stream) uint64 {
	if number, ok := b.numbers[stream]; ok {
		return b.byNumber[number-1].live
	}
	return 0
}

// streamAt returns the number of a block's stream; 0 means the default stream.
func (s *segment) streamAt(slot uint32) uint16 {
	if int(slot) < len(s.streams) {
		return s.streams[slot]
	}
	return 0
}

// note records the stream of a new block. The slot has no stream before.
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

// roomForStream extends the table of streams to the length of the other tables.
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

// forget removes the stream of a block that ends.
func (b *blockStreams) forget(s *segment, slot uint32) {
	if number := s.streamAt(slot); number != 0 {
		s.streams[slot] = 0
		b.uncount(number, 1)
	}
}

// move transfers the streams of a block to the block's new place.
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

// isOf reports whether a block belongs to a stream.
func (b *blockStreams) isOf(s *segment, slot uint32, stream device.Stream) bool {
	if number := s.streamAt(slot); number != 0 {
		return b.byNumber[number-1].stream == stream
	}
	return stream == b.defaultStream
}

// allAreOf reports whether every block of the segments belongs to a stream. The caller
// knows that all blocks are live.
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

// streamFor returns the stream of the block if the free has to wait for it in addition to
// freedOn; otherwise nil. A free without a stream covers the work of the default stream.
// A stream of a capture that has ended counts as the stream that was captured.
func (b *blockStreams) streamFor(l located, freedOn device.Stream) device.Stream {
	number := l.streamAt(l.Slot)
	if number == 0 {
		if freedOn == nil || freedOn == b.defaultStream {
			return nil
		}
		return b.defaultStream
	}
	of := b.byNumber[number-1].stream
	if captured, ok := of.(*branch); ok && captured.HasEnded() {
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

// areAll reports whether every block of the pool has to wait only for the stream of its
// free.
func (b *blockStreams) areAll(freedOn device.Stream) bool {
	return !b.anyNamed() && b.live == 0 && (freedOn == nil || freedOn == b.defaultStream)
}

// anyNamed reports whether RecordStream has named a stream for a live block.
func (b *blockStreams) anyNamed() bool { return len(b.named) > 0 }

// namedFor returns the streams that RecordStream named for a block.
func (b *blockStreams) namedFor(l located) []device.Stream { return b.named[l.addr()] }

// linked returns the number of blocks that do not belong to the default stream, plus the
// number of blocks with streams that RecordStream named.
func (b *blockStreams) linked() uint64 { return b.live + uint64(len(b.named)) }

// record stores that a stream uses a live block.
func (b *blockStreams) record(l located, stream device.Stream) {
	if b.named == nil {
		b.named = make(map[device.Addr][]device.Stream)
	}
	if named := b.named[l.addr()]; !slices.Contains(named, stream) {
		b.named[l.addr()] = append(named, stream)
	}
	l.setInfo(l.info() | recordedBit)
}

// forgetAll removes the streams of blocks that have ended, including the streams that
// RecordStream named.
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
