package regions

// pieceShift is the length of a piece, as a power of two.
const pieceShift = 10

// Pieces is a list that never moves what is in it, so that no addition takes long.
type Pieces[T any] struct {
	all   [][]T
	count int
}

// At is the value of an index.
func (p *Pieces[T]) At(index int) *T {
	return &p.all[index>>pieceShift][index&(1<<pieceShift-1)]
}

// Add appends a value, and is its index.
func (p *Pieces[T]) Add(value T) (index int) {
	index = p.count
	if index>>pieceShift == len(p.all) {
		p.all = append(p.all, make([]T, 1<<pieceShift))
	}
	p.count++
	*p.At(index) = value
	return index
}

// Len is how many values there are.
func (p *Pieces[T]) Len() int { return p.count }

// Cut takes the last value out.
func (p *Pieces[T]) Cut() { p.count-- }
