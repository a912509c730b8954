package pool

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

// Request is a block as asked for.
type Request struct {
	// SizeBytes is not 0; it is rounded up to the pool's alignment.
	SizeBytes uint64
	// AlignmentBytes is a power of two up to MaxAlignmentBytes; 0, and less than
	// the pool's, mean the pool's.
	AlignmentBytes uint64
	// Stream will use the block first; nil: the default one. It may get memory
	// at once that was freed on it; any other only when the work that was queued
	// before the free is done.
	Stream device.Stream
	// Tag names the holder in the books; "": the tag of TagNumber.
	Tag string
	// TagNumber is a number of Pool.Tag; 0: the pool's name.
	TagNumber uint32
	// Lifetime is how long the block is expected to live; 0: not known. It bears
	// on the place only, and may be wrong.
	Lifetime time.Duration
	// End is the same as a moment on a clock that all requests of the pool
	// share, for replays, instead of Lifetime; 0: not known.
	End uint64
	// Group is a number that blocks share which are expected to be freed
	// together; 0: none. It bears on the place only.
	Group uint64
}

// Block is a live block.
type Block struct {
	Addr device.Addr
	// SizeBytes is the size after rounding.
	SizeBytes      uint64
	RequestedBytes uint64
	Tag            string
	// AllocatedAt is on the clock of track.Now; 0 without Config.Tracking.
	AllocatedAt time.Duration
}

// need is a checked request.
type need struct {
	rangealloc.Request
	requested uint64
	// count is how many blocks are wanted.
	count     uint64
	stream    device.Stream
	tag       string
	tagNumber uint32
	// addressless says that the last growth failed for lack of addresses.
	addressless bool
}

// inFlight is what a block in flight has to be that is longer by an excess.
func (n *need) inFlight(excess inflight.Excess) inflight.Want {
	return inflight.Want{SizeBytes: n.Size, AlignBytes: n.Align, Excess: excess}
}

// check fills in a need.
func (h *heap) check(r *Request, n *need) error {
	align := r.AlignmentBytes
	if align == 0 {
		align = h.config.AlignmentBytes
	}
	mask := h.config.AlignmentBytes - 1
	n.requested, n.count = r.SizeBytes, 1
	n.Size = (r.SizeBytes + mask) &^ mask
	n.Align = max(align, h.config.AlignmentBytes)
	n.End, n.Group = r.End, r.Group
	n.stream, n.tag, n.tagNumber = r.Stream, r.Tag, r.TagNumber
	if n.stream == nil {
		n.stream = h.defaultStream
	}
	if n.Size < r.SizeBytes || r.SizeBytes == 0 || !isAlignment(align) || len(r.Tag) > MaxNameBytes {
		return h.badRequest(r)
	}
	if r.Lifetime != 0 {
		if r.Lifetime < 0 {
			return device.Errorf(device.CodeInvalidArgument, opAlloc,
				"lifetime %v is negative", r.Lifetime).On(h.engine.ID())
		}
		n.End = uint64(track.Now()) + uint64(r.Lifetime)
	}
	if h.debug != nil {
		return h.pad(n)
	}
	return nil
}

// badRequest says what is wrong with a request.
func (h *heap) badRequest(r *Request) error {
	switch {
	case r.SizeBytes == 0:
		return device.Errorf(device.CodeInvalidSize, opAlloc, "size_bytes is 0").On(h.engine.ID())
	case r.AlignmentBytes != 0 && !isAlignment(r.AlignmentBytes):
		return device.Errorf(device.CodeInvalidAlignment, opAlloc,
			"alignment_bytes %d is not a power of two from 1 to %d", r.AlignmentBytes,
			MaxAlignmentBytes).On(h.engine.ID())
	case len(r.Tag) > MaxNameBytes:
		return device.Errorf(device.CodeInvalidArgument, opAlloc,
			"tag %q has %d bytes, at most %d are allowed", r.Tag, len(r.Tag),
			MaxNameBytes).On(h.engine.ID())
	}
	return device.Errorf(device.CodeOverflow, opAlloc,
		"size_bytes %d cannot be rounded up to a multiple of %d", r.SizeBytes,
		h.config.AlignmentBytes).On(h.engine.ID())
}
