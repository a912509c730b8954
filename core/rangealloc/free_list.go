package rangealloc

// push puts a free block at the front of a doubly linked list, whose links are
// left (the one before) and right of the records.
func push(all []record, head *uint32, at uint32) {
	r := &all[at]
	r.left, r.right = none, *head
	if *head != none {
		all[*head].left = at
	}
	*head = at
}

// pull takes a free block out of its list, and says whether that list has become
// empty.
func pull(all []record, head *uint32, at uint32) bool {
	r := &all[at]
	if r.right != none {
		all[r.right].left = r.left
	}
	if r.left != none {
		all[r.left].right = r.right
		return false
	}
	*head = r.right
	return r.right == none
}

// checkList follows a list whose blocks must all be free and fitting, and counts
// them; no list is longer than most.
func checkList(all []record, head uint32, most uint64, fitting func(*record) bool) (found uint64, err error) {
	before := none
	for at := head; at != none; before, at = at, all[at].right {
		r := &all[at]
		if !r.isFree() || r.left != before || !fitting(r) {
			return 0, broken("record %d of %d granules is in the list of %d behind %d and does not belong there",
				at, r.size, head, before)
		}
		if found++; found > most {
			return 0, broken("the list of record %d holds more than the %d free blocks", head, most)
		}
	}
	return found, nil
}
