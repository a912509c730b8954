package rangealloc

func (b *bestFit[U]) Check() error {
	runs, err := b.check(always)
	if err != nil {
		return err
	}
	if all := b.records.all; all[all[0].prev].isFree() {
		runs-- // the run at the end is not in a tree
	}
	if runs != b.free.count {
		return broken("the ring has %d free runs beside one at the end, the trees count %d", runs, b.free.count)
	}
	if err := checkHints(&b.hints, b.records.all); err != nil {
		return err
	}
	return b.free.check(b.records.all)
}

// checkHints finds expected ends of records that are not live.
func checkHints[U unit](h *hints, all []record[U]) error {
	for at, end := range h.ends {
		if end != 0 && (at == 0 || at >= len(all) || !all[at].isLive()) {
			return broken("record %d is expected to end at %d and is not live", at, end)
		}
	}
	return nil
}

// check traverses every tree in order.
func (f *freeIndex[U]) check(all []record[U]) error {
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
			if !r.isFree() || r.next == 0 || f.binOf(r.size(), r.offset()) != uint(bin) || last != none && !all[last].before(r) {
				return broken("record %d of %d granules is in bin %d after %d and does not belong there", cur, r.size(), bin, last)
			}
			if r.right != none && priority(cur) < priority(r.right) {
				return broken("record %d is above %d in bin %d, against their priorities", cur, r.right, bin)
			}
			found, last, cur = found+1, cur, r.right
		}
	}
	if few := uint64(f.few.count); found+few != f.count || f.binned != (found != 0) || few != 0 && f.binned {
		return broken("the trees hold %d and the few are %d of %d free runs", found, few, f.count)
	}
	return f.few.check(all)
}
