package pool

// pieceShift is the length of a piece, as a power of two.
const pieceShift = 10

// pieces is a list that never moves what is in it, so that no addition takes long.
type pieces[T any] struct {
	all   [][]T
	count int
}

func (p *pieces[T]) at(index int) *T {
	return &p.all[index>>pieceShift][index&(1<<pieceShift-1)]
}

// add appends a value, and is its index.
func (p *pieces[T]) add(value T) (index int) {
	index = p.count
	if index>>pieceShift == len(p.all) {
		p.all = append(p.all, make([]T, 1<<pieceShift))
	}
	p.count++
	*p.at(index) = value
	return index
}
