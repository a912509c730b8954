package pool

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

// placeOrReuse is place for a pool with blocks in flight. The caller holds mu.
func (h *heap) placeOrReuse(n *need, block *Block) error {
	// A block in flight that fits well serves this stream as well as free memory does.
	// Using it leaves the free memory to other streams, which may use such a block only
	// after its event has completed.
	if at, ok := h.inFlight.Find(n.stream, n.inFlight(inflight.Fits)); ok {
		return h.revive(at, n, block)
	}
	h.completeFrees(inflight.PollBudget)
	return h.place(n, block)
}

// place allocates a block from the present segments, or returns ErrNoRoom. It prefers
// segments with low addresses, so that the others become empty. The caller holds mu.
func (h *heap) place(n *need, block *Block) error {
	plain := n.Align == h.config.AlignmentBytes
	for _, s := range h.segments {
		if plain && n.Size >= s.full {
			continue
		}
		got, err := s.alloc(&n.Request)
		if err != nil {
			if err != rangealloc.ErrNoRoom {
				return err
			}
			if plain {
				s.refused(n.Size)
			}
			continue
		}
		if err := h.write(s, &got, n, block); err != nil {
			h.unplace(located{s, got})
			return err
		}
		s.blocks++
		h.counters.Alloc(track.Block{RequestedBytes: n.requested, AllocatedBytes: got.Size})
		return nil
	}
	return rangealloc.ErrNoRoom
}

// write records a new live block in the table of its segment, in the counters of its tag
// and in the state of the debug mode. It fills in block.
func (h *heap) write(s *segment, got *rangealloc.Range, n *need, block *Block) error {
	tag, err := uint32(0), error(nil)
	if n.tag != "" || n.tagNumber != 0 {
		if tag, err = h.tagOf(n); err != nil {
			return err
		}
	}
	slack := got.Size - n.requested
	if slack > maxSlackBytes {
		return h.tooSlack(n, slack)
	}
	s.setInfo(got.Slot, makeInfo(blockLive, tag, slack))
	h.streams.note(located{s, *got}, n.stream)
	block.Addr, block.SizeBytes = s.base+device.Addr(got.Offset), got.Size
	block.RequestedBytes, block.Tag = n.requested, h.tags.Name(tag)
	if s.timed {
		now := track.Now()
		s.times[got.Slot] = int64(now)
		block.AllocatedAt = now
	}
	h.tags.Add(tag, track.Block{RequestedBytes: n.requested, AllocatedBytes: got.Size}, 1)
	if h.debug != nil {
		h.guard(located{s, *got}, n, block)
	}
	return nil
}

func (h *heap) tooSlack(n *need, slack uint64) error {
	return device.Errorf(device.CodeOverflow, opAlloc, "size_bytes %d: strategy %q would waste %v",
		n.requested, h.config.Strategy, device.Size(slack)).On(h.engine.ID())
}

// unplace returns a block that could not be recorded.
func (h *heap) unplace(l located) {
	l.releasePages()
	l.retract(l.Offset)
}

// tagOf returns the number of a request's tag.
func (h *heap) tagOf(n *need) (uint32, error) {
	if n.tag == "" {
		if n.tagNumber != 0 && !h.tags.IsKept(n.tagNumber) {
			return 0, device.Errorf(device.CodeInvalidArgument, opAlloc,
				"tag %d does not exist in pool %q", n.tagNumber, h.config.Name).On(h.engine.ID())
		}
		return n.tagNumber, nil
	}
	number, ok := h.tags.Number(n.tag)
	if !ok {
		return 0, device.Errorf(device.CodeResourceExhausted, opAlloc,
			"tag %q: blocks of %d other tags are live in pool %q", n.tag, track.MaxTags,
			h.config.Name).On(h.engine.ID())
	}
	return number, nil
}

// revive allocates a block in flight to the stream on which it was freed.
func (h *heap) revive(at int32, n *need, block *Block) error {
	l := h.flying(h.inFlight.At(at).Addr)
	if err := h.write(l.segment, &l.Range, n, block); err != nil {
		return err
	}
	h.inFlight.Drop(at)
	h.counters.Reuse(track.Block{RequestedBytes: n.requested, AllocatedBytes: l.Size})
	return nil
}
