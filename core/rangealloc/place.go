package rangealloc

import "ferrum_mem/core/device"

// Place is the position at which a block must be placed, in bytes from the start of the
// range.
type Place struct {
	// Offset and Size are multiples of the granule, and Size is not 0.
	Offset, Size uint64
	// Behind is the offset of a live block before the place; the search is faster the
	// nearer it is. FromStart means that there is none, or that it is unknown.
	Behind uint64
}

// FromStart, as Place.Behind, makes the search begin at the start of the range.
const FromStart = ^uint64(0)

// PlaceTaker is a strategy whose caller may choose the place of a block. Callers test for
// it by type assertion.
type PlaceTaker interface {
	// TakePlace allocates the block at a place. Errors: ErrNoRoom if not all of it is
	// free; INVALID_SIZE and INVALID_OFFSET for an invalid place; INVALID_ADDRESS if no
	// live block starts at Behind; RESOURCE_EXHAUSTED if the tables are full. After an
	// error nothing has changed.
	TakePlace(p Place) (Range, error)
	// WalkFrom is Walk beginning with the live block that starts at behind; FromStart
	// means the start of the range. It returns false, and visits nothing, if no live
	// block starts there.
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

// liveAt returns the live block that starts at an offset in bytes, or none.
func (t *tiling[U]) liveAt(offset uint64) uint32 {
	if offset&(t.config.GranuleBytes-1) != 0 || offset >= t.config.SizeBytes {
		return none
	}
	return t.live.find(t.records.all, offset>>t.shift)
}

// runAt returns the free run that contains a place, and the number of granules before the
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
			"%v at offset %d: want a multiple of %v inside the range of %v", device.Size(p.Size), p.Offset,
			device.Size(t.config.GranuleBytes), device.Size(t.config.SizeBytes))
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
