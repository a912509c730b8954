package pool

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/track"
)

// Free frees a block and does not wait. The memory can be allocated again when the work
// that is queued now has completed on these streams: the stream of the block (the one of
// its request), the stream of the free (nil: the default one), and the streams that
// RecordStream named. If that is work of one stream only, an allocation for that stream
// may reuse the memory at once.
//
// Errors: CodeDoubleFree for an address that is free or in flight; CodeInvalidAddress for
// an address inside a block or outside the pool; those of the stream of the free;
// CodeResourceExhausted if there is no memory to put the block behind queued work. After
// an error the block is still live.
func (p *Pool) Free(addr device.Addr, stream device.Stream) error {
	if stream == nil {
		stream = p.heap.defaultStream
	}
	if done, err := p.family.freeRouted(addr, anySize, stream); done {
		return err
	}
	idle, err := device.IsDry(stream)
	if err != nil {
		return err
	}
	return p.frees.freeOne(addr, anySize, stream, idle)
}

// FreeNow frees a live block of the default stream if no queued work uses it. It returns
// false, and changes nothing, if it cannot: then Free frees the block or returns the
// error.
func (p *Pool) FreeNow(addr device.Addr) bool {
	idle, err := device.Drained(p.heap.defaultStream)
	if !idle || err != nil {
		return false
	}
	freed, overfull := p.heap.freeIdle(addr, anySize, p.heap.defaultStream)
	if overfull {
		p.supply.shrink()
	}
	return freed
}

// freeOne frees a block: directly in common cases, by retire in all others.
func (f *frees) freeOne(addr device.Addr, size uint64, stream device.Stream, idle bool) error {
	if idle {
		freed, overfull := f.heap.freeIdle(addr, size, stream)
		if overfull {
			f.supply.shrink()
		}
		if freed {
			return nil
		}
		return f.retire(&pendingFree{addrs: []device.Addr{addr}, stream: stream, idle: true, size: size})
	}
	event, err := device.Mark(opFree, stream)
	if err != nil {
		return err
	}
	freed, overfull := f.heap.freeBehind(addr, size, stream, event)
	if overfull {
		f.supply.shrink()
	}
	if freed {
		return nil
	}
	return f.retire(&pendingFree{
		addrs: []device.Addr{addr}, stream: stream, size: size,
		streams: []device.Stream{stream}, marks: []device.Event{event},
	})
}

// anySize as the size of a free disables the check of the size.
const anySize = 0

// freeIdle frees a live block of a stream without queued work, if no other stream uses
// the block and the requested size matches. In all other cases it returns false, and the
// caller calls retire. overfull means that the supply has to release memory above the
// threshold. It takes mu.
func (h *heap) freeIdle(addr device.Addr, size uint64, stream device.Stream) (freed, overfull bool) {
	if h.ended.Load() {
		return false, false
	}
	h.mu.Lock()
	if h.frozen || h.state != stateOpen || h.debug != nil {
		h.mu.Unlock()
		return false, false
	}
	s := h.recent
	if s == nil || addr-s.base >= device.Addr(s.usable) {
		if s = h.recall(addr); s == nil {
			h.mu.Unlock()
			return false, false
		}
	}
	r, ok := s.strategy.Lookup(uint64(addr - s.base))
	if !ok {
		h.mu.Unlock()
		return false, false
	}
	info := s.infoAt(r.Slot)
	sizes := track.Block{RequestedBytes: r.Size - info.slack(), AllocatedBytes: r.Size}
	if !info.plainLive() || !h.streams.isOf(s, r.Slot, stream) || size != anySize && size != sizes.RequestedBytes {
		h.mu.Unlock()
		return false, false
	}
	h.streams.forget(s, r.Slot)
	h.tags.Remove(info.tag(), sizes, 1)
	if s.slotFreer != nil {
		s.full = max(s.full, s.slotFreer.FreeSlot(r.Slot)+1)
	} else {
		if _, err := s.strategy.Free(r.Offset); err != nil {
			h.broken(opFree, err)
		}
		s.full = anyFits
	}
	if s.pages != nil {
		s.pages.Release(r.Offset, r.Size)
	}
	h.runFreed(s, 1)
	h.counters.Free(sizes)
	if h.inFlight.Count() > 0 {
		h.completeFrees(inflight.PollBudget)
	}
	overfull = h.overfull
	if r.Size > LeastLentBytes && stream == h.defaultStream {
		h.lent.lend(s)
	}
	h.mu.Unlock()
	h.engine.Changed()
	return true, overfull
}

// freeBehind is freeIdle for a block that work of its stream may use until the event. If
// freed is true, the pool owns the event.
func (h *heap) freeBehind(addr device.Addr, size uint64, stream device.Stream, event device.Event) (freed, overfull bool) {
	if h.ended.Load() {
		return false, false
	}
	h.lock()
	if h.state == stateOpen && h.inFlight.Count() > 0 {
		// The query comes before the new event, which cannot have completed yet.
		h.completeFrees(inflight.PollBudget)
	}
	s, r, ok := h.locateLive(addr)
	if !ok || h.state != stateOpen || h.debug != nil {
		h.mu.Unlock()
		return false, false
	}
	info := s.infoAt(r.Slot)
	sizes := track.Block{RequestedBytes: r.Size - info.slack(), AllocatedBytes: r.Size}
	if info.recorded() || !h.streams.isOf(s, r.Slot, stream) || size != anySize && size != sizes.RequestedBytes ||
		h.inFlight.Reserve(1, 1) != nil {
		h.mu.Unlock()
		return false, false
	}
	h.streams.forget(s, r.Slot)
	h.tags.Remove(info.tag(), sizes, 1)
	h.counters.DeferFree(sizes)
	s.setInfo(r.Slot, makeInfo(blockInFlight, 0, 0))
	behind := [1]inflight.Fence{h.inFlight.Fence(stream, event)}
	h.inFlight.Add(located{s, r}.inFlight(), behind[:])
	overfull = h.overfull
	h.mu.Unlock()
	h.engine.Changed()
	return true, overfull
}

// FreeSized is Free with a check of the requested size. It returns CodeInvalidSize if the
// size differs; the block stays live then.
func (p *Pool) FreeSized(addr device.Addr, sizeBytes uint64, stream device.Stream) error {
	if sizeBytes == 0 {
		return device.Errorf(device.CodeInvalidSize, opFree, "size_bytes is 0").On(p.heap.engine.ID())
	}
	if stream == nil {
		stream = p.heap.defaultStream
	}
	if done, err := p.family.freeRouted(addr, sizeBytes, stream); done {
		return err
	}
	idle, err := device.IsDry(stream)
	if err != nil {
		return err
	}
	return p.frees.freeOne(addr, sizeBytes, stream, idle)
}

// FreeBatch is Free for many blocks: all or none. The error is that of the first invalid
// address and states its index. An address that occurs twice gives CodeDoubleFree.
func (p *Pool) FreeBatch(addrs []device.Addr, stream device.Stream) error {
	if len(addrs) == 0 {
		return nil
	}
	if stream == nil {
		stream = p.heap.defaultStream
	}
	if p.family.graphs.AnyPrivate() {
		if done, err := p.family.freeManyRouted(&pendingFree{addrs: addrs, stream: stream, batch: true}); done {
			return err
		}
	}
	idle, err := device.IsDry(stream)
	if err != nil {
		return err
	}
	if idle && p.frees.freeTogether(addrs, stream) {
		return nil
	}
	return p.frees.retire(&pendingFree{addrs: addrs, stream: stream, idle: idle, batch: true})
}

// FreeAfter frees a block. Its memory can be allocated again when all events have
// completed, and also the work of its stream, unless that is the default stream. The
// caller knows best which work of the default stream uses the block. The pool closes the
// events, unless the call fails. Errors: those of Free; CodeInvalidArgument for a nil
// event.
func (p *Pool) FreeAfter(addr device.Addr, events []device.Event) error {
	for i, event := range events {
		if event == nil {
			return device.Errorf(device.CodeInvalidArgument, opFree,
				"event %d of %d is nil", i, len(events)).On(p.heap.engine.ID())
		}
	}
	j := &pendingFree{addrs: []device.Addr{addr}, idle: true, events: events}
	if p.family.graphs.AnyPrivate() {
		if done, err := p.family.freeManyRouted(j); done {
			return err
		}
	}
	return p.frees.retire(j)
}
