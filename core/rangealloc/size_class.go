package rangealloc

import "math/bits"

const nameSizeClass = "size_class"

// sizeClass rounds small sizes up to a class and takes them from slabs: runs of
// blocks of one class, with a bit for each block that is free. Larger blocks,
// and the slabs themselves, are those of a best_fit beneath.
//
// The idea: a small block then costs a bit and its share of a slab's record,
// where a record of its own has 32 bytes, and is taken without a search. A slab
// starts at a multiple of the slab length, so the slab that an address is in is
// found from the address. Of a class's slabs the fuller ones are taken from
// first, so that the others empty out and go back to best_fit; one empty slab is
// kept where the class has no other room, lest a block that comes and goes makes
// a slab each time.
//
// What is kept or rounded never makes a request fail: when best_fit has no room,
// kept slabs are given back first, and a small request then takes a block of a
// larger class before it is refused. Stats and Walk show kept slabs as the free
// space that they are.
type sizeClass struct {
	geometry
	slabShape
	inner *bestFit[uint64]
	slabs slabTable
	slots slotChunks
	// classes is by number of class, for those that have slabs.
	classes []slabClass
	// kept counts the classes that keep an empty slab.
	kept int
	// highWater is in granules.
	highWater uint64
	// marks and emptied are scratch for FreeBatch: a bit for each record of inner,
	// and slabs.
	marks   []uint64
	emptied []uint32
}

// slabClass is one class of blocks.
type slabClass struct {
	granules uint64
	// slabs and live count the slabs of the class and their live blocks.
	slabs, live uint64
	// inverse is 2^32 over granules, rounded up: it divides offsets in a slab.
	inverse uint64
	// count is blocks in a slab, and perQuarter 2^16 over a quarter of it.
	count, perQuarter uint32
	// lists are of the slabs with room, the fullest quarter last.
	lists [quarters]uint32
	// kept is the empty slab that the class keeps, or noSlab.
	kept uint32
}

// slabShape is what slabs look like; shift and lengths are in granules.
type slabShape struct {
	// slabShift is that of the length, 2^slabShift granules; 0: no slabs.
	slabShift uint
	// small is the largest size that is taken from slabs; 0: none.
	small uint64
}

const (
	// maxSlabShift makes slabs of 256 granules, 64 KiB where a granule is 256 B.
	maxSlabShift = 8
	// slabsPerRange keeps slabs small in a small range: half-used slabs of many
	// classes would fill it.
	slabsPerRange = 64
	// blocksPerSlab is at least how many blocks a slab has.
	blocksPerSlab = 4
	// maxSlabBytes bounds a slab where granules are large.
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

// SizeOrdered implements SizeOrdered: a size is refused when best_fit has no room for it,
// with no slab kept, nor has any slab of its class or a larger one.
func (s *sizeClass) SizeOrdered() {}

// Close gives the tables back.
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

// classOf is the class whose slabs serve a request, or -1.
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

// aligned says whether every block of a class has the alignment: a slab starts
// at a multiple of its length, which is a multiple of every alignment that a
// size of at most a quarter of it has.
func (s *sizeClass) aligned(class int, align uint64) bool {
	granules := s.classes[class].granules
	return align>>s.shift <= granules&-granules
}

// allocLarge takes a block from best_fit, if need be by giving back the slabs
// that are kept, or by taking a larger block from a slab.
func (s *sizeClass) allocLarge(r Request) (Range, error) {
	got, err := s.inner.Alloc(r)
	if err == ErrNoRoom && s.kept > 0 { //nolint:errorlint // the very value, in the hot path of a full range
		s.giveBackKept()
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

// largerSlab is a slab with room of any class that serves the request.
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
