package reference

// count returns the number of elements of a shape.
func count(shape []uint64) uint64 {
	product := uint64(1)
	for _, size := range shape {
		product *= size
	}
	return product
}

// each visits the indices of all elements in row-major order. index is valid during the visit.
func each(shape []uint64, visit func(at int, index []uint64)) {
	index := make([]uint64, len(shape))
	for at := range int(count(shape)) {
		visit(at, index)
		for axis := len(shape) - 1; axis >= 0; axis-- {
			index[axis]++
			if index[axis] < shape[axis] {
				break
			}
			index[axis] = 0
		}
	}
}

// offset returns the position of an element of a tensor with some shape. The shape may have fewer
// dimensions than the index, and dimensions of 1, which repeat.
func offset(shape, index []uint64) int {
	at := uint64(0)
	index = index[len(index)-len(shape):]
	for axis, size := range shape {
		at *= size
		if size != 1 {
			at += index[axis]
		}
	}
	return int(at)
}

// kept returns a shape with 1 in place of some dimensions: one element for each group of elements
// that are combined along these dimensions.
func kept(shape []uint64, axes []int) []uint64 {
	groups := append([]uint64{}, shape...)
	for _, axis := range axes {
		groups[axis] = 1
	}
	return groups
}
