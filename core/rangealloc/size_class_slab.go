package rangealloc

import (
	"math/bits"

	"ferrum_mem/core/device"
)

// slabWithRoom returns a slab of the class that has a free block: the fullest one, or a
// new one. It returns noSlab if best_fit has no space for a new one.
func (s *sizeClass) slabWithRoom(class int) (uint32, error) {
	if id := s.fullest(class); id != noSlab {
		return id, nil
	}
	return s.newSlab(class)
}

// fullest returns a slab of the class with a free block, from the fullest quarter that
// has any.
func (s *sizeClass) fullest(class int) uint32 {
	c := &s.classes[class]
	for quarter := quarters - 1; quarter > 0; quarter-- {
		if id := c.lists[quarter]; id != noSlab {
			return id
		}
	}
	return c.lists[0]
}

func (s *sizeClass) newSlab(class int) (uint32, error) {
	c := &s.classes[class]
	if err := s.reserveSlab(c); err != nil {
		return noSlab, err
	}
	run, err := s.inner.Alloc(s.slabRequest(c))
	if err == ErrNoRoom { //nolint:errorlint // the hot path of a full range compares this very value
		return noSlab, nil
	}
	if err != nil {
		return noSlab, err
	}
	return s.addSlab(class, run), nil
}

// slabRequest returns the request to best_fit for a slab of a class.
func (s *sizeClass) slabRequest(c *slabClass) Request {
	return Request{Size: c.granules * uint64(c.count) << s.shift, Align: 1 << (s.slabShift + s.shift)}
}

// reserveSlab makes sure that addSlab succeeds.
func (s *sizeClass) reserveSlab(c *slabClass) error {
	if err := s.slabs.reserve(); err != nil {
		return err
	}
	return s.slots.reserve(int(c.count+slotChunk-1) / slotChunk)
}

// addSlab makes a run of best_fit a slab. The caller has called reserveSlab.
func (s *sizeClass) addSlab(class int, run Range) uint32 {
	c := &s.classes[class]
	id := s.slabs.add(run.Offset>>s.shift, run.Slot, class, c.count)
	s.slots.take(s.slabs.chunksOf(id, c.count))
	c.slabs++
	s.relist(id)
	return id
}

// releaseSlab returns an empty slab, which is not kept, to best_fit.
func (s *sizeClass) releaseSlab(id uint32) {
	s.unlist(id)
	slab := &s.slabs.all[id]
	c := &s.classes[slab.class]
	c.slabs--
	s.slots.give(s.slabs.chunksOf(id, c.count))
	start := slab.start
	s.slabs.drop(id)
	if _, err := s.inner.Free(start << s.shift); err != nil {
		// Every slab is a live block of best_fit.
		panic(err)
	}
}

func (s *sizeClass) releaseKept() {
	for i := range s.classes {
		if id := s.classes[i].kept; id != noSlab {
			s.unkeep(&s.classes[i])
			s.releaseSlab(id)
		}
	}
}

func (s *sizeClass) unkeep(c *slabClass) {
	c.kept = noSlab
	s.kept--
}

// takeSmall allocates the lowest free block of a slab.
func (s *sizeClass) takeSmall(id uint32) Range {
	slab := &s.slabs.all[id]
	words := s.slabs.wordsOf(id)
	at := uint32(0)
	for words[at] == 0 {
		at++
	}
	index := at<<6 + uint32(bits.TrailingZeros64(words[at]))
	words[at] &= words[at] - 1
	c := &s.classes[slab.class]
	s.taken(id, slab, c, 1, index)
	return Range{
		Offset: (slab.start + uint64(index)*c.granules) << s.shift,
		Size:   c.granules << s.shift,
		Slot:   s.slabs.slot(id, index),
	}
}

// taken updates a slab after count of its blocks became live; index is the last of them.
func (s *sizeClass) taken(id uint32, slab *slab, c *slabClass, count, index uint32) {
	if c.kept == id {
		s.unkeep(c)
	}
	slab.live += uint16(count)
	c.live += uint64(count)
	s.highWater = max(s.highWater, slab.start+uint64(index+1)*c.granules)
	if c.listOf(slab.live) != slab.list {
		s.relist(id)
	}
}

// takeBits allocates the lowest free blocks of a slab, as many as it has and to has
// elements for. It returns the rest of to.
func (s *sizeClass) takeBits(id uint32, to []Range) []Range {
	slab := &s.slabs.all[id]
	c := &s.classes[slab.class]
	count := min(uint32(len(to)), c.count-uint32(slab.live))
	words, chunks := s.slabs.wordsOf(id), s.slabs.chunksOf(id, c.count)
	size, index, left := c.granules<<s.shift, uint32(0), to[:count]
	for at := 0; len(left) > 0; at++ {
		word := words[at]
		for word != 0 && len(left) > 0 {
			index = uint32(at)<<6 + uint32(bits.TrailingZeros64(word))
			word &= word - 1
			left[0] = Range{
				Offset: (slab.start + uint64(index)*c.granules) << s.shift,
				Size:   size,
				Slot:   slotIn(chunks, index),
			}
			left = left[1:]
		}
		words[at] = word
	}
	s.taken(id, slab, c, count, index)
	return to[count:]
}

// release frees a block. If it reports that the slab is empty, the caller has to call
// retire.
func (s *sizeClass) release(id, index uint32) (empty bool) {
	slab := &s.slabs.all[id]
	s.slabs.wordsOf(id)[index>>6] |= 1 << (index & 63)
	slab.live--
	c := &s.classes[slab.class]
	c.live--
	if c.listOf(slab.live) != slab.list {
		s.relist(id)
	}
	return slab.live == 0
}

// unrelease undoes release.
func (s *sizeClass) unrelease(id, index uint32) {
	slab := &s.slabs.all[id]
	s.slabs.wordsOf(id)[index>>6] &^= 1 << (index & 63)
	slab.live++
	s.classes[slab.class].live++
	s.relist(id)
}

// retire keeps a slab that has become empty, or returns it to best_fit if its class has
// other free blocks. It returns the size of its blocks.
func (s *sizeClass) retire(id uint32) (size uint64) {
	c := &s.classes[s.slabs.all[id].class]
	size = c.granules << s.shift
	only := c.lists[0] == id && s.slabs.all[id].next == noSlab
	for _, head := range c.lists[1:] {
		only = only && head == noSlab
	}
	if !only {
		s.releaseSlab(id)
		return size
	}
	c.kept = id
	s.kept++
	return size
}

// locate returns the slab and the block that contain a granule, and whether it is the
// block's first granule. hint is a slab that probably contains it, or noSlab.
func (s *sizeClass) locate(granule uint64, hint uint32) (id, index uint32, starts bool) {
	id = hint
	if hint == noSlab || (granule-s.slabs.all[hint].start)>>s.slabShift != 0 {
		if id = s.slabs.find(granule); id == noSlab {
			return noSlab, 0, false
		}
	}
	slab := &s.slabs.all[id]
	c := &s.classes[slab.class]
	within := granule - slab.start
	index = uint32(within * c.inverse >> 32)
	if index >= c.count {
		return noSlab, 0, false
	}
	return id, index, uint64(index)*c.granules == within
}

func (s *sizeClass) block(id, index uint32) Range {
	slab := &s.slabs.all[id]
	c := &s.classes[slab.class]
	return Range{
		Offset: (slab.start + uint64(index)*c.granules) << s.shift,
		Size:   c.granules << s.shift,
		Slot:   s.slabs.slot(id, index),
	}
}

// liveSmall returns the live block of a slab that starts at offset; noSlab if the offset
// is in no slab. If it is in a slab, the error states what is there instead. hint is as
// for locate.
func (s *sizeClass) liveSmall(offset uint64, hint uint32) (id, index uint32, err error) {
	if offset >= s.config.SizeBytes {
		return noSlab, 0, nil
	}
	id, index, starts := s.locate(offset>>s.shift, hint)
	if id == noSlab || starts && !s.slabs.isFree(id, index) && offset&(s.config.GranuleBytes-1) == 0 {
		return id, index, nil
	}
	if s.slabs.isFree(id, index) {
		return noSlab, 0, alreadyFree(offset)
	}
	holder := s.block(id, index)
	return noSlab, 0, device.Errorf(device.CodeInvalidAddress, "rangealloc.free",
		"offset is %d, inside the live block of %v at %d", offset, device.Size(holder.Size), holder.Offset)
}

// listOf returns the list for slabs with a number of live blocks.
func (c *slabClass) listOf(live uint16) uint8 {
	if uint32(live) == c.count {
		return unlisted
	}
	return uint8(uint32(live) * c.perQuarter >> 16)
}

// relist moves a slab to the list of its quarter, or to none if it is full.
func (s *sizeClass) relist(id uint32) {
	slab := &s.slabs.all[id]
	list := s.classes[slab.class].listOf(slab.live)
	if list == slab.list {
		return
	}
	s.unlist(id)
	if list != unlisted {
		s.slabs.push(&s.classes[slab.class].lists[list], id)
		slab.list = list
	}
}

func (s *sizeClass) unlist(id uint32) {
	if slab := &s.slabs.all[id]; slab.list != unlisted {
		s.slabs.unlink(&s.classes[slab.class].lists[slab.list], id)
		slab.list = unlisted
	}
}

func alreadyFree(offset uint64) error {
	return device.Errorf(device.CodeDoubleFree, "rangealloc.free", "offset is %d, which is free", offset)
}
