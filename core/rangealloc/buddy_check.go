package rangealloc

func (b *buddy) Check() error {
	blocks, err := b.check(areBuddies)
	if err != nil {
		return err
	}
	all := b.records.all
	for at := all[0].next; at != 0; at = all[at].next {
		if r := &all[at]; r.size()&(r.size()-1) != 0 || r.offset()&(r.size()-1) != 0 {
			return broken("record %d is [%d,+%d), which is not a buddy", at, r.offset(), r.size())
		}
	}
	found := uint64(0)
	for order, head := range b.heads {
		if b.orders>>order&1 != 0 != (head != none) {
			return broken("order %d begins with block %d and the orders are %#x", order, head, b.orders)
		}
		listed, err := checkList(all, head, b.freeCount, func(r *record[uint64]) bool { return r.size() == 1<<order })
		if err != nil {
			return err
		}
		found += listed
	}
	if found != b.freeCount || found != blocks {
		return broken("the lists hold %d free blocks and count %d, the ring has %d", found, b.freeCount, blocks)
	}
	return nil
}

// areBuddies reports whether two neighbours in the ring are the halves of one block.
func areBuddies(first, second *record[uint64]) bool {
	return first.size() == second.size() && first.offset()&first.size() == 0
}
