package estimate

// Mixer is a part of layers that mixes the tokens of a sequence with a state of fixed
// size: a state space, a linear attention, a recurrence, a convolution.
type Mixer struct {
	// Kind is its name, for errors.
	Kind string
	// Layers is the number of layers with this mixer. Heads are distributed to devices
	// as a whole; 0: it has none.
	Layers uint64
	Heads  uint64
	// Matrices has the matrices that quantisation makes smaller, Vectors all other
	// weights.
	Matrices []Matrix
	Vectors  Span
	// Convolution has the inputs that its convolution keeps, in the type of the
	// activations. State has the state that it carries, in 32 bits. Both count elements
	// of one sequence.
	Convolution Span
	State       Span
	// Inner has the elements of one token's activations inside the mixer.
	Inner Span
}

// Matrix is a matrix with its two dimensions.
type Matrix struct{ Inputs, Outputs Span }

// Span is a number of elements, in parts that are distributed to devices.
type Span []Part

// Part is Units of Size elements each. One device has a whole unit.
type Part struct{ Units, Size uint64 }

// whole returns elements that every device has completely.
func whole(elements uint64) Part { return Part{1, elements} }

// cut returns elements that are distributed to devices one by one.
func cut(elements uint64) Part { return Part{elements, 1} }

// on returns the elements on one of tp devices, the one with the most.
func (s Span) on(c *calculation, tp uint64) uint64 {
	var elements uint64
	for _, p := range s {
		elements = c.sum(elements, c.product(ceilDiv(p.Units, tp), p.Size))
	}
	return elements
}

// times returns a span n times as large.
func (s Span) times(c *calculation, n uint64) Span {
	longer := make(Span, len(s))
	for i, p := range s {
		longer[i] = Part{p.Units, c.product(p.Size, n)}
	}
	return longer
}
