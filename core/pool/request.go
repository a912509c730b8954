package pool

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

// Request describes a block to allocate.
type Request struct {
	// SizeBytes must not be 0; it is rounded up to the pool's alignment.
	SizeBytes uint64
	// AlignmentBytes is a power of two up to MaxAlignmentBytes. The pool's alignment is
	// used if AlignmentBytes is 0 or less than it.
	AlignmentBytes uint64
	// Stream is the stream that will use the block first; nil means the default stream.
	// Memory that was freed on this stream can be reused at once. Memory that was freed
	// on another stream can be reused when the work that was queued before the free has
	// completed.
	Stream device.Stream
	// Tag is counted with the block; "" means the tag with the number TagNumber.
	Tag string
	// TagNumber is a number that Pool.Tag returned; 0 means the pool's name.
	TagNumber uint32
	// Lifetime is the time that the block is expected to live; 0 means unknown. It
	// influences only the placement, and it may be wrong.
	Lifetime time.Duration
	// End is the expected time of the free, for replays that have a clock of their own.
	// It replaces Lifetime. All requests of a pool use the same clock; 0 means unknown.
	End uint64
	// Group is a number shared by blocks that are expected to be freed together; 0 means
	// none. It influences only the placement.
	Group uint64
}

// Block describes a live block.
type Block struct {
	Addr device.Addr
	// SizeBytes is the size after rounding.
	SizeBytes      uint64
	RequestedBytes uint64
	Tag            string
	// AllocatedAt is the time of the allocation on the clock of track.Now; 0 without
	// Config.Tracking.
	AllocatedAt time.Duration
}

// need is a request that was checked.
type need struct {
	rangealloc.Request
	requested uint64
	// count is the number of blocks to allocate.
	count     uint64
	stream    device.Stream
	tag       string
	tagNumber uint32
	// addressless is set when the last growth failed because no address space was free.
	addressless bool
}

// inFlight returns the conditions for a block in flight that can serve the request. The
// block may be longer than the request by at most excess.
func (n *need) inFlight(excess inflight.Excess) inflight.Want {
	return inflight.Want{SizeBytes: n.Size, AlignBytes: n.Align, Excess: excess}
}

// check validates a request and fills in n.
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

// badRequest returns the error for an invalid request.
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
			"tag %q has %v, at most %d are allowed", r.Tag, device.Size(len(r.Tag)),
			MaxNameBytes).On(h.engine.ID())
	}
	return device.Errorf(device.CodeOverflow, opAlloc,
		"size_bytes %d cannot be rounded up to a multiple of %d", r.SizeBytes,
		h.config.AlignmentBytes).On(h.engine.ID())
}
