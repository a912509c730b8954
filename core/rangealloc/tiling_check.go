package rangealloc

import "ferrum_mem/core/device"

// broken returns an error for a violated invariant of the tables.
func broken(format string, args ...any) error {
	return device.Errorf(device.CodeInternal, "rangealloc.check", format, args...)
}

// check verifies the ring, the counters and the hash table, and counts the free blocks.
// touch reports which two free neighbours should have been merged.
func (t *tiling[U]) check(touch func(first, second *record[U]) bool) (freeBlocks uint64, err error) {
	freeUnits, freeBlocks, liveBlocks, err := t.checkRing(touch)
	if err != nil {
		return 0, err
	}
	if freeUnits != t.freeUnits || liveBlocks != t.live.count {
		return 0, broken("the ring has %d free granules and %d live blocks, the counters say %d and %d",
			freeUnits, liveBlocks, t.freeUnits, t.live.count)
	}
	if err := t.live.check(t.records.all); err != nil {
		return 0, err
	}
	return freeBlocks, t.records.check(freeBlocks + liveBlocks)
}

// always is the touch of strategies that merge any two free neighbours.
func always[U unit](*record[U], *record[U]) bool { return true }

// checkRing checks in address order that the blocks cover the range without gaps.
func (t *tiling[U]) checkRing(touch func(first, second *record[U]) bool) (freeUnits, freeBlocks, liveBlocks uint64, err error) {
	all := t.records.all
	end, prev := uint64(0), uint32(0)
	for at := all[0].next; at != 0; prev, at = at, all[at].next {
		r := &all[at]
		switch {
		case r.prev != prev:
			return 0, 0, 0, broken("record %d follows %d but points back to %d", at, prev, r.prev)
		case r.offset() != end || r.size() == 0 || r.size() > t.total-end:
			return 0, 0, 0, broken("record %d is [%d,+%d) and the one before ends at %d of %d",
				at, r.offset(), r.size(), end, t.total)
		case r.isFree() && all[prev].isFree() && touch(&all[prev], r):
			return 0, 0, 0, broken("free blocks %d and %d touch at granule %d", prev, at, end)
		case r.isFree():
			freeUnits += r.size()
			freeBlocks++
		case r.isLive():
			liveBlocks++
			if r.offset()+r.size() > t.highWater {
				return 0, 0, 0, broken("record %d ends at %d, above the high water %d", at, r.offset()+r.size(), t.highWater)
			}
		default:
			return 0, 0, 0, broken("spare record %d is in the ring", at)
		}
		end += r.size()
	}
	if end != t.total || all[0].prev != prev {
		return 0, 0, 0, broken("the ring ends at granule %d of %d, record %d, and the head points to %d",
			end, t.total, prev, all[0].prev)
	}
	return freeUnits, freeBlocks, liveBlocks, nil
}

// check follows the list of spare records. These and the inUse blocks must be all
// records.
func (t *records[U]) check(inUse uint64) error {
	spares := uint64(0)
	for at := t.spare; at != none && spares <= t.spareCount; at = t.all[at].right {
		if t.all[at].left != markSpare {
			return broken("record %d is in the list of spares and in use", at)
		}
		spares++
	}
	if spares != t.spareCount || inUse+spares+1 != uint64(len(t.all)) {
		return broken("%d records: %d in use, %d spare, the counter of spares says %d",
			len(t.all), inUse, spares, t.spareCount)
	}
	return nil
}

// check follows every chain.
func (l *liveIndex[U]) check(all []record[U]) error {
	found := uint64(0)
	for i := range l.heads {
		for at := l.heads[i]; at != none; at = all[at].right {
			if !all[at].isLive() || l.head(all[at].offset()) != &l.heads[i] {
				return broken("record %d is in hash chain %d and does not belong there", at, i)
			}
			if found++; found > l.count {
				return broken("the hash chains hold more than the %d live blocks", l.count)
			}
		}
	}
	if found != l.count {
		return broken("the hash chains hold %d of %d live blocks", found, l.count)
	}
	return nil
}
