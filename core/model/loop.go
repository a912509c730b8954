package model

import "ferrum_mem/core/strided"

// A loop is steps that run tile by tile: all of them for the first part of a group, then all of them for the
// next part. A value that only the loop reads exists for one tile at a time. The others are whole, and each
// tile reads or writes its part of them.
//
// All tiles of a loop use the same buffers, so a loop takes no more times in a plan than it has steps: a
// buffer of a tile is live between its step and its last reader, and a whole value that a step reads or writes is
// live during all steps of the loop.
type loop struct {
	group int
	// name is that of the dimension at the inputs of the model, or "".
	name string
	// first and last are nodes. The nodes between them that have no part in the group run before the loop.
	first, last int
	isTiled     []bool // by the distance from first
	// units is the length of the group, and tiles the number of parts, which are as equal as possible.
	units, tiles int64
	// places has for each size of a tile, the larger one first, the places of values of one tile.
	places [][]*place
	// The steps are those of the draft from from on, before end.
	from, end int
	// largestBytes is the size of the largest value of a tile.
	largestBytes uint64
}

// sizes returns the different sizes of the tiles in units, the larger one first.
func (l *loop) sizes() []int64 {
	if l.units%l.tiles == 0 {
		return []int64{l.units / l.tiles}
	}
	return []int64{l.units/l.tiles + 1, l.units / l.tiles}
}

// each calls a function for all tiles, with the number of their size, and where they begin and how long they are.
func (l *loop) each(call func(size int, start, count int64) error) error {
	sizes, larger := l.sizes(), l.units%l.tiles
	for tile, start := int64(0), int64(0); tile < l.tiles; tile++ {
		size := 0
		if len(sizes) > 1 && tile >= larger {
			size = 1
		}
		if err := call(size, start, sizes[size]); err != nil {
			return err
		}
		start += sizes[size]
	}
	return nil
}

// partOf returns the part of a layout that a tile reads or writes. A part without gaps has the strides of its
// shape, as the value of a tile has.
func (l *loop) partOf(layout strided.Layout, axis int, start, count int64) (strided.Layout, error) {
	each := layout.Shape()[axis] / l.units
	part, err := layout.Narrow(axis, start*each, count*each)
	if err != nil || !part.IsContiguous() {
		return part, err
	}
	return strided.Strided(part.Shape(), strided.RowMajor(part.Shape()), part.First())
}

// isWritable states whether the parts of a whole value have no gaps, as the engine was told.
func (l *loop) isWritable(of *place, axis int) bool {
	part, err := l.partOf(of.layout, axis, 0, l.sizes()[0])
	return err == nil && part.IsContiguous()
}
