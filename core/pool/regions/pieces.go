package regions

// pieceShift is the binary logarithm of the length of a piece.
const pieceShift = 10

// Pieces is a list that never moves its elements, so that no addition takes long.
type Pieces[T any] struct {
	all   [][]T
	count int
}

// At returns the element with an index.
func (p *Pieces[T]) At(index int) *T {
	return &p.all[index>>pieceShift][index&(1<<pieceShift-1)]
}

// Add appends a value and returns its index.
func (p *Pieces[T]) Add(value T) (index int) {
	index = p.count
	if index>>pieceShift == len(p.all) {
		p.all = append(p.all, make([]T, 1<<pieceShift))
	}
	p.count++
	*p.At(index) = value
	return index
}

// Len returns the number of elements.
func (p *Pieces[T]) Len() int { return p.count }

// Cut removes the last element.
func (p *Pieces[T]) Cut() { p.count-- }
