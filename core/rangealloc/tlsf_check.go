package rangealloc

func (t *tlsf) Check() error {
	runs, err := t.check(always)
	if err != nil {
		return err
	}
	if last := &t.records.all[t.records.all[0].prev]; last.isFree() {
		if last.left != none || last.right != none {
			return broken("the run at the end, [%d,+%d), has links", last.offset(), last.size())
		}
		runs--
	}
	if runs != t.free.count {
		return broken("the ring has %d free runs before the one at the end, the lists count %d", runs, t.free.count)
	}
	return t.free.check(t.records.all)
}

// check follows every list.
func (c *classes) check(all []record[uint64]) error {
	found := uint64(0)
	for class, head := range c.heads {
		row, bit := class>>rowBits, class&rowMask
		if c.row[row]>>bit&1 != 0 != (head != none) || c.rows>>row&1 != 0 != (c.row[row] != 0) {
			return broken("class %d begins with run %d, its row is %#x and the rows are %#x", class, head, c.row[row], c.rows)
		}
		listed, err := checkList(all, head, c.count, func(r *record[uint64]) bool { return classOf(r.size()) == uint(class) })
		if err != nil {
			return err
		}
		found += listed
	}
	if found != c.count {
		return broken("the lists hold %d of %d free runs", found, c.count)
	}
	return nil
}
