package rangealloc

// Lists of free blocks, doubly linked: left of a record is the previous block, right the
// next one. At the end of a list, record 0 takes the write that is meant for the
// neighbour, and its mark is restored afterwards. A test for a neighbour would be a
// branch that a processor predicts wrongly half of the time, which costs more than two
// writes.

// push adds a free block at the front of a list.
func push[U unit](all []record[U], head *uint32, at uint32) {
	r := &all[at]
	first := *head
	r.left, r.right = none, first
	all[first].left = at
	all[none].left = markLive
	*head = at
}

// pull removes a free block from its list and reports whether the list has become empty.
func pull[U unit](all []record[U], head *uint32, at uint32) bool {
	r := &all[at]
	all[r.right].left = r.left
	all[none].left = markLive
	if r.left != none {
		all[r.left].right = r.right
		return false
	}
	*head = r.right
	return r.right == none
}

// checkList follows a list whose blocks must all be free and fitting, and counts them. No
// list may be longer than most.
func checkList[U unit](all []record[U], head uint32, most uint64, fitting func(*record[U]) bool) (found uint64, err error) {
	before := none
	for at := head; at != none; before, at = at, all[at].right {
		r := &all[at]
		if !r.isFree() || r.left != before || !fitting(r) {
			return 0, broken("record %d of %d granules is in the list of %d behind %d and does not belong there",
				at, r.size(), head, before)
		}
		if found++; found > most {
			return 0, broken("the list of record %d holds more than the %d free blocks", head, most)
		}
	}
	return found, nil
}
