package rangealloc

// AllocBatch implements Batcher: small blocks are taken from a slab as many at a
// time as it has. A batch that found no room may have put its first blocks around
// slabs that were kept then; it is tried once more without any.
func (s *sizeClass) AllocBatch(r Request, to []Range) error {
	if r.Size == 0 || r.Align == 0 || r.Align&(r.Align-1) != 0 {
		return r.check()
	}
	kept := s.kept
	err := s.allocBatch(r, to)
	if err == ErrNoRoom && kept > 0 { //nolint:errorlint // the very value
		s.giveBackKept()
		err = s.allocBatch(r, to)
	}
	return err
}

// allocBatch is AllocBatch with the slabs that are kept.
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

// undo frees what a batch has taken, and gives the error that ended it.
func (s *sizeClass) undo(taken []Range, highWater uint64, err error) error {
	for _, block := range taken {
		if _, bad := s.Free(block.Offset); bad != nil {
			panic(bad) // it was live a moment ago, and nobody else was here
		}
	}
	s.highWater = highWater
	return err
}

// FreeBatch implements Batcher. First every block of a slab is freed and every
// larger one marked, so that a second mention is found; that can be undone. Then
// the marked ones are freed and the slabs that are empty retired. Neighbours in
// the list are most often of one slab.
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

// freeMarked frees those of the blocks that are marked, which are the larger
// ones.
func (s *sizeClass) freeMarked(offsets []uint64) {
	for _, offset := range offsets {
		if id, _, _ := s.locate(offset>>s.shift, noSlab); id == noSlab && s.unmark(offset) {
			if _, err := s.inner.Free(offset); err != nil {
				panic(err) // it was live when it was marked
			}
		}
	}
}

// mark remembers that the batch frees the larger block at offset, or says what
// is wrong with it.
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

// unmark says whether the larger block at offset is marked, and forgets it.
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
