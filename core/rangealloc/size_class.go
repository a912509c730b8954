package rangealloc

import "math/bits"

const nameSizeClass = "size_class"

// sizeClass rounds small sizes up to a class and allocates them from slabs. A slab is a
// run of blocks of one class, with a bit for each free block. Larger blocks, and the
// slabs themselves, are allocated from a best_fit strategy.
//
// So a small block costs one bit and its share of a slab's record, where a record of its
// own has 32 bytes, and it is allocated without a search. A slab starts at a multiple of
// the slab length, so the slab that contains an address is found from the address. Of a
// class's slabs the fuller ones are used first, so that the others become empty and
// return to best_fit. One empty slab is kept if the class has no other free block, so
// that a block that is allocated and freed repeatedly does not create a slab each time.
//
// Neither kept slabs nor rounding make a request fail: if best_fit has no space, kept
// slabs are released first. A small request then uses a block of a larger class before it
// fails. Stats and Walk show kept slabs as free space.
type sizeClass struct {
	geometry
	slabShape
	inner *bestFit[uint64]
	slabs slabTable
	slots slotChunks
	// classes has the classes with slabs, by number.
	classes []slabClass
	// kept counts the classes that keep an empty slab.
	kept int
	// highWater is in granules.
	highWater uint64
	// marks and emptied are buffers of FreeBatch: a bit for each record of inner, and a
	// list of slabs.
	marks   []uint64
	emptied []uint32
}

// slabClass is one class of blocks.
type slabClass struct {
	granules uint64
	// slabs and live are the number of slabs of the class and of their live blocks.
	slabs, live uint64
	// inverse is 2^32 over granules, rounded up, to divide offsets in a slab.
	inverse uint64
	// count is the number of blocks in a slab, and perQuarter is 2^16 over a quarter of
	// it.
	count, perQuarter uint32
	// lists are the slabs with free blocks, the fullest quarter last.
	lists [quarters]uint32
	// kept is the empty slab that the class keeps, or noSlab.
	kept uint32
}

// slabShape is the shape of slabs; shift and lengths are in granules.
type slabShape struct {
	// slabShift is the binary logarithm of the length in granules; 0 means no slabs.
	slabShift uint
	// small is the largest size that is allocated from slabs; 0 means none.
	small uint64
}

const (
	// maxSlabShift makes slabs of 256 granules, 64 KiB if a granule is 256 B.
	maxSlabShift = 8
	// slabsPerRange keeps slabs small in a small range, which half-used slabs of many
	// classes would fill.
	slabsPerRange = 64
	// blocksPerSlab is the smallest number of blocks of a slab.
	blocksPerSlab = 4
	// maxSlabBytes bounds a slab if granules are large.
	maxSlabBytes = 1 << 20
)

func shapeOf(g geometry) slabShape {
	granules := min(g.total/slabsPerRange, 1<<maxSlabShift, maxSlabBytes>>g.shift)
	if granules < blocksPerSlab {
		return slabShape{}
	}
	shift := uint(bits.Len64(granules)) - 1
	return slabShape{slabShift: shift, small: 1 << shift / blocksPerSlab}
}

func newSizeClass(c Config) (Strategy, error) {
	g, err := c.check()
	if err != nil {
		return nil, err
	}
	return newShapedSizeClass(g, shapeOf(g))
}

func newShapedSizeClass(g geometry, shape slabShape) (Strategy, error) {
	inner, err := newBestFitIn[uint64](g)
	if err != nil {
		return nil, err
	}
	s := &sizeClass{
		geometry: g, slabShape: shape, inner: inner,
		slabs: newSlabTable(g.base, shape.slabShift),
	}
	if shape.small == 0 {
		return s, nil
	}
	for class := range SizeClass(shape.small) + 1 {
		granules := ClassGranules(class)
		if granules > shape.small {
			break
		}
		count := uint32(1 << shape.slabShift / granules)
		s.classes = append(s.classes, slabClass{
			granules:   granules,
			inverse:    1<<32/granules + 1,
			count:      count,
			perQuarter: quarters << 16 / count,
			lists:      [quarters]uint32{noSlab, noSlab, noSlab, noSlab},
			kept:       noSlab,
		})
	}
	return s, nil
}

func (s *sizeClass) Name() string { return nameSizeClass }

// SizeOrdered implements SizeOrdered: a request fails only if no slab is kept, best_fit
// has no space for the size, and no slab of its class or a larger one has a free block.
func (s *sizeClass) SizeOrdered() {}

// Close releases the tables.
func (s *sizeClass) Close() {
	s.inner.Close()
	s.slabs.close()
	s.slots.close()
}

func (s *sizeClass) Alloc(r Request) (Range, error) {
	if r.Size == 0 || r.Align == 0 || r.Align&(r.Align-1) != 0 {
		return Range{}, r.check()
	}
	if class := s.classOf(r); class >= 0 {
		id, err := s.slabWithRoom(class)
		if err != nil {
			return Range{}, err
		}
		if id != noSlab {
			return s.takeSmall(id), nil
		}
	}
	return s.allocLarge(r)
}

// classOf returns the class whose slabs serve a request, or -1.
func (s *sizeClass) classOf(r Request) int {
	need := s.granules(r.Size)
	if need > s.small {
		return -1
	}
	class := SizeClass(need)
	if class >= len(s.classes) || !s.aligned(class, r.Align) {
		return -1
	}
	return class
}

// aligned reports whether every block of a class has the alignment. A slab starts at a
// multiple of its length. That is a multiple of every alignment that divides a size of at
// most a quarter of it.
func (s *sizeClass) aligned(class int, align uint64) bool {
	granules := s.classes[class].granules
	return align>>s.shift <= granules&-granules
}

// allocLarge allocates a block from best_fit. If that has no space, it releases the kept
// slabs, or uses a larger block of a slab.
func (s *sizeClass) allocLarge(r Request) (Range, error) {
	got, err := s.inner.Alloc(r)
	if err == ErrNoRoom && s.kept > 0 { //nolint:errorlint // the hot path of a full range compares this very value
		s.releaseKept()
		got, err = s.inner.Alloc(r)
	}
	if err != nil {
		if id := s.largerSlab(r); id != noSlab {
			return s.takeSmall(id), nil
		}
		return Range{}, err
	}
	got.Slot = s.slots.ofRecord(got.Slot)
	s.highWater = max(s.highWater, (got.Offset+got.Size)>>s.shift)
	return got, nil
}

// largerSlab returns a slab with a free block, of any class that can serve the request.
func (s *sizeClass) largerSlab(r Request) uint32 {
	need := s.granules(r.Size)
	if need > s.small {
		return noSlab
	}
	for class := SizeClass(need); class < len(s.classes); class++ {
		if id := s.fullest(class); id != noSlab && s.aligned(class, r.Align) {
			return id
		}
	}
	return noSlab
}

func (s *sizeClass) Free(offset uint64) (uint64, error) {
	id, index, err := s.liveSmall(offset, noSlab)
	if err != nil {
		return 0, err
	}
	if id == noSlab {
		return s.inner.Free(offset)
	}
	if s.release(id, index) {
		return s.retire(id), nil
	}
	return s.classes[s.slabs.all[id].class].granules << s.shift, nil
}

func (s *sizeClass) Lookup(offset uint64) (Range, bool) {
	if offset&(s.config.GranuleBytes-1) != 0 || offset >= s.config.SizeBytes {
		return Range{}, false
	}
	if id, index, starts := s.locate(offset>>s.shift, noSlab); id != noSlab {
		if !starts || s.slabs.isFree(id, index) {
			return Range{}, false
		}
		return s.block(id, index), true
	}
	got, ok := s.inner.Lookup(offset)
	if ok {
		got.Slot = s.slots.ofRecord(got.Slot)
	}
	return got, ok
}
