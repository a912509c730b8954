package estimate

// Mixer is a part of layers that mixes the tokens of a sequence through a state
// of fixed size: a state space, a linear attention, a recurrence, a convolution.
type Mixer struct {
	// Kind is its name, for errors.
	Kind string
	// Layers have one each. Heads are shared out to devices whole; 0: it has none.
	Layers uint64
	Heads  uint64
	// Matrices are those that quantisation makes smaller, Vectors all other weights.
	Matrices []Matrix
	Vectors  Span
	// Convolution is the inputs that its convolution looks back at, in the type of
	// the activations; State is what it carries on, in 32 bits. Both are elements
	// of one sequence.
	Convolution Span
	State       Span
	// Inner is the elements of one token's activations inside it.
	Inner Span
}

// Matrix is a matrix by its two sides.
type Matrix struct{ Inputs, Outputs Span }

// Span is a number of elements, in parts that devices share out.
type Span []Part

// Part is Units of Size elements each; a unit is held by one device.
type Part struct{ Units, Size uint64 }

// whole is elements that every device holds.
func whole(elements uint64) Part { return Part{1, elements} }

// cut is elements that devices share out one by one.
func cut(elements uint64) Part { return Part{elements, 1} }

// on is the elements on one of tp devices, the one that has most.
func (s Span) on(c *calculation, tp uint64) uint64 {
	var elements uint64
	for _, p := range s {
		elements = c.sum(elements, c.product(ceilDiv(p.Units, tp), p.Size))
	}
	return elements
}

// times is a span several times over.
func (s Span) times(c *calculation, n uint64) Span {
	longer := make(Span, len(s))
	for i, p := range s {
		longer[i] = Part{p.Units, c.product(p.Size, n)}
	}
	return longer
}
