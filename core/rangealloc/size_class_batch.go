package rangealloc

// AllocBatch implements Batcher. It allocates as many small blocks from a slab at a time
// as the slab has. A batch that found no space may have placed its first blocks around
// slabs that were kept; it is tried once more without kept slabs.
func (s *sizeClass) AllocBatch(r Request, to []Range) error {
	if r.Size == 0 || r.Align == 0 || r.Align&(r.Align-1) != 0 {
		return r.check()
	}
	kept := s.kept
	err := s.allocBatch(r, to)
	if err == ErrNoRoom && kept > 0 { //nolint:errorlint // compares this very value
		s.releaseKept()
		err = s.allocBatch(r, to)
	}
	return err
}

// allocBatch is AllocBatch with the kept slabs.
func (s *sizeClass) allocBatch(r Request, to []Range) error {
	class, left, highWater := s.classOf(r), to, s.highWater
	for class >= 0 && len(left) > 0 {
		id, err := s.slabWithRoom(class)
		if err != nil {
			return s.undo(to[:len(to)-len(left)], highWater, err)
		}
		if id == noSlab {
			break
		}
		left = s.takeBits(id, left)
	}
	for len(left) > 0 {
		got, err := s.allocLarge(r)
		if err != nil {
			return s.undo(to[:len(to)-len(left)], highWater, err)
		}
		left[0] = got
		left = left[1:]
	}
	return nil
}

// undo frees what a batch has allocated, and returns the error that ended the batch.
func (s *sizeClass) undo(taken []Range, highWater uint64, err error) error {
	for _, block := range taken {
		if _, bad := s.Free(block.Offset); bad != nil {
			panic(bad) // it was live a moment ago, and no other call was in between
		}
	}
	s.highWater = highWater
	return err
}

// FreeBatch implements Batcher. First it frees every block of a slab and marks every
// larger block, so that it detects a second mention of a block; this can be undone. Then
// it frees the marked blocks and retires the empty slabs. Neighbours in the list are
// usually in one slab.
func (s *sizeClass) FreeBatch(offsets []uint64) error {
	large, hint := false, noSlab
	s.emptied = s.emptied[:0]
	for i, offset := range offsets {
		id, index, err := s.liveSmall(offset, hint)
		if err == nil && id == noSlab {
			large = true
			err = s.mark(offset)
		}
		if err != nil {
			s.unfree(offsets[:i])
			return err
		}
		if id != noSlab {
			hint = id
			if s.release(id, index) {
				s.emptied = append(s.emptied, id)
			}
		}
	}
	if large {
		s.freeMarked(offsets)
	}
	for _, id := range s.emptied {
		s.retire(id)
	}
	return nil
}

// freeMarked frees the marked blocks, which are the larger ones.
func (s *sizeClass) freeMarked(offsets []uint64) {
	for _, offset := range offsets {
		if id, _, _ := s.locate(offset>>s.shift, noSlab); id == noSlab && s.unmark(offset) {
			if _, err := s.inner.Free(offset); err != nil {
				panic(err) // it was live when it was marked
			}
		}
	}
}

// mark records that the batch frees the larger block at offset. It returns an error if it
// cannot be freed.
func (s *sizeClass) mark(offset uint64) error {
	got, ok := s.inner.Lookup(offset)
	if !ok {
		return s.inner.badFree(offset)
	}
	for uint64(len(s.marks))*64 <= uint64(got.Slot) {
		s.marks = append(s.marks, 0)
	}
	word, bit := &s.marks[got.Slot/64], uint64(1)<<(got.Slot%64)
	if *word&bit != 0 {
		return alreadyFree(offset)
	}
	*word |= bit
	return nil
}

// unmark reports whether the larger block at offset is marked, and removes the mark.
func (s *sizeClass) unmark(offset uint64) bool {
	got, ok := s.inner.Lookup(offset)
	if !ok || uint64(got.Slot)/64 >= uint64(len(s.marks)) {
		return false
	}
	word, bit := &s.marks[got.Slot/64], uint64(1)<<(got.Slot%64)
	marked := *word&bit != 0
	*word &^= bit
	return marked
}

// unfree undoes the first part of FreeBatch.
func (s *sizeClass) unfree(offsets []uint64) {
	for _, offset := range offsets {
		if id, index, _ := s.locate(offset>>s.shift, noSlab); id != noSlab {
			s.unrelease(id, index)
		} else {
			s.unmark(offset)
		}
	}
}
