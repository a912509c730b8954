package rangealloc

import "ferrum_mem/core/device"

// Place is where a block is to lie, in bytes from the start of the range.
type Place struct {
	// Offset and Size are multiples of the granule, and Size is not 0.
	Offset, Size uint64
	// Behind is the offset of a live block in front of the place: the nearer, the
	// faster. FromStart: there is none, or it is not known.
	Behind uint64
}

// FromStart as Place.Behind has the whole range looked through.
const FromStart = ^uint64(0)

// PlaceTaker is a strategy whose caller may choose where a block lies. Callers ask for
// it by type assertion.
type PlaceTaker interface {
	// TakePlace takes the block at a place. Errors: ErrNoRoom when not all of it is
	// free, INVALID_SIZE and INVALID_OFFSET for a place that is no block,
	// INVALID_ADDRESS when no live block starts at Behind, RESOURCE_EXHAUSTED when
	// the tables are full. A failed TakePlace changes nothing.
	TakePlace(p Place) (Range, error)
	// WalkFrom is Walk from the live block on that starts at behind, which it visits
	// first; FromStart: from the start of the range. False: no live block starts
	// there, and nothing was visited.
	WalkFrom(behind uint64, visit func(Block) bool) bool
}

// WalkFrom implements PlaceTaker.
func (t *tiling[U]) WalkFrom(behind uint64, visit func(Block) bool) bool {
	at := t.records.all[0].next
	if behind != FromStart {
		if at = t.liveAt(behind); at == none {
			return false
		}
	}
	t.walk(at, visit)
	return true
}

// liveAt is the live block that starts at an offset in bytes, or none.
func (t *tiling[U]) liveAt(offset uint64) uint32 {
	if offset&(t.config.GranuleBytes-1) != 0 || offset >= t.config.SizeBytes {
		return none
	}
	return t.live.find(t.records.all, offset>>t.shift)
}

// runAt finds the free run that a place lies in, with the granules in front of the
// place.
func (t *tiling[U]) runAt(p Place) (at uint32, pad, need uint64, err error) {
	const op = "rangealloc.take_place"
	mask := t.config.GranuleBytes - 1
	switch {
	case p.Size == 0 || p.Size&mask != 0:
		return none, 0, 0, device.Errorf(device.CodeInvalidSize, op,
			"size is %d: want a positive multiple of %d", p.Size, t.config.GranuleBytes)
	case p.Offset&mask != 0 || p.Offset >= t.config.SizeBytes || p.Size > t.config.SizeBytes-p.Offset:
		return none, 0, 0, device.Errorf(device.CodeInvalidOffset, op,
			"%d bytes at offset %d: want a multiple of %d inside the range of %d bytes", p.Size, p.Offset,
			t.config.GranuleBytes, t.config.SizeBytes)
	}
	all := t.records.all
	offset, need := p.Offset>>t.shift, p.Size>>t.shift
	at = all[0].next
	if p.Behind != FromStart {
		if at = t.liveAt(p.Behind); at == none || p.Behind > p.Offset {
			return none, 0, 0, device.Errorf(device.CodeInvalidAddress, op,
				"no live block starts at %d in front of offset %d", p.Behind, p.Offset)
		}
	}
	for offset >= all[at].offset()+all[at].size() {
		at = all[at].next
	}
	pad = offset - all[at].offset()
	if !all[at].isFree() || all[at].size()-pad < need {
		return none, 0, 0, ErrNoRoom
	}
	return at, pad, need, nil
}

// TakePlace implements PlaceTaker.
func (b *bestFit[U]) TakePlace(p Place) (Range, error) {
	at, pad, need, err := b.runAt(p)
	if err == nil {
		at, err = b.take(at, pad, need)
	}
	if err != nil {
		return Range{}, err
	}
	return Range{Offset: p.Offset, Size: p.Size, Slot: at}, nil
}

// TakePlace implements PlaceTaker.
func (t *tlsf) TakePlace(p Place) (Range, error) {
	at, pad, need, err := t.runAt(p)
	if err == nil {
		at, err = t.take(at, pad, need)
	}
	if err != nil {
		return Range{}, err
	}
	return Range{Offset: p.Offset, Size: p.Size, Slot: at}, nil
}
