package rangealloc

import "ferrum_mem/core/device"

// broken reports a violated invariant of the tables.
func broken(format string, args ...any) error {
	return device.Errorf(device.CodeInternal, "rangealloc.check", format, args...)
}

func (b *bestFit) Check() error {
	freeUnits, freeRuns, liveBlocks, err := b.checkRing()
	if err != nil {
		return err
	}
	if freeUnits != b.freeUnits || freeRuns != b.free.count || liveBlocks != b.live.count {
		return broken("the ring has %d free granules in %d runs and %d live blocks, the counters say %d, %d, %d",
			freeUnits, freeRuns, liveBlocks, b.freeUnits, b.free.count, b.live.count)
	}
	if err := b.live.check(b.records.all); err != nil {
		return err
	}
	if err := b.free.check(b.records.all); err != nil {
		return err
	}
	return b.records.check(freeRuns + liveBlocks)
}

// checkRing walks the blocks in address order: they tile the range, and no two
// free runs touch.
func (b *bestFit) checkRing() (freeUnits, freeRuns, liveBlocks uint64, err error) {
	all := b.records.all
	end, wasFree, prev := uint64(0), false, uint32(0)
	for at := all[0].next; at != 0; prev, at = at, all[at].next {
		r := &all[at]
		switch {
		case r.prev != prev:
			return 0, 0, 0, broken("record %d follows %d but points back to %d", at, prev, r.prev)
		case r.offset != end || r.size == 0 || r.size > b.total-end:
			return 0, 0, 0, broken("record %d is [%d,+%d) and the one before ends at %d of %d",
				at, r.offset, r.size, end, b.total)
		case r.isFree() && wasFree:
			return 0, 0, 0, broken("free runs %d and %d touch at granule %d", prev, at, end)
		case r.isFree():
			freeUnits += r.size
			freeRuns++
		case r.isLive():
			liveBlocks++
			if r.offset+r.size > b.highWater {
				return 0, 0, 0, broken("record %d ends at %d, above the high water %d", at, r.offset+r.size, b.highWater)
			}
		default:
			return 0, 0, 0, broken("spare record %d is in the ring", at)
		}
		end, wasFree = end+r.size, r.isFree()
	}
	if end != b.total || all[0].prev != prev {
		return 0, 0, 0, broken("the ring ends at granule %d of %d, record %d, and the head points to %d",
			end, b.total, prev, all[0].prev)
	}
	return freeUnits, freeRuns, liveBlocks, nil
}

// check follows the list of spare records: with the blocks in use it accounts
// for every record.
func (t *records) check(inUse uint64) error {
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
func (l *liveIndex) check(all []record) error {
	found := uint64(0)
	for i := range l.heads {
		for at := l.heads[i]; at != none; at = all[at].right {
			if !all[at].isLive() || l.head(all[at].offset) != &l.heads[i] {
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

// check walks every tree in order.
func (f *freeIndex) check(all []record) error {
	found := uint64(0)
	var path []uint32
	for bin, root := range f.bins {
		if f.filled.has(uint(bin)) != (root != none) {
			return broken("bin %d has root %d and the bitset says %v", bin, root, root == none)
		}
		last := none
		for cur := root; cur != none || len(path) > 0; {
			for ; cur != none; cur = all[cur].left {
				if len(path) > 0 && priority(path[len(path)-1]) < priority(cur) && all[path[len(path)-1]].left == cur {
					return broken("record %d is above %d in bin %d, against their priorities", path[len(path)-1], cur, bin)
				}
				path = append(path, cur)
				if uint64(len(path)) > f.count {
					return broken("the tree of bin %d is deeper than there are free runs", bin)
				}
			}
			cur = path[len(path)-1]
			path = path[:len(path)-1]
			r := &all[cur]
			if !r.isFree() || f.binOf(r.size) != uint(bin) || last != none && !all[last].before(r) {
				return broken("record %d of %d granules is in bin %d after %d and does not belong there", cur, r.size, bin, last)
			}
			if r.right != none && priority(cur) < priority(r.right) {
				return broken("record %d is above %d in bin %d, against their priorities", cur, r.right, bin)
			}
			found, last, cur = found+1, cur, r.right
		}
	}
	if found != f.count {
		return broken("the trees hold %d of %d free runs", found, f.count)
	}
	return nil
}
