package irtest

import (
	"hash/fnv"
	"math/rand/v2"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator/reference"
)

// Elements returns elements of a parameter for tests: its Value, its strategy if that is zeros or ones
// and the weights do not have it, and otherwise numbers that depend on its Source or Name only. A
// parameter of parts has the elements of the parts.
func Elements(p *ir.Parameter) (*reference.Tensor, error) {
	made := reference.New(p.DType, sizes(p.Shape))
	at := 0
	for i := range p.Parts {
		part, err := Elements(&p.Parts[i])
		if err != nil {
			return nil, err
		}
		at += copy(made.Floats[at:], part.Floats)
	}
	switch {
	case len(p.Parts) > 0:
	case p.Value != nil:
		copy(made.Ints, p.Value)
	case p.Source == "" && p.Initialization.Strategy == ir.StrategyZeros:
	case p.Source == "" && p.Initialization.Strategy == ir.StrategyOnes:
		for i := range made.Floats {
			made.Floats[i] = 1
		}
	default:
		random := randomOf(p.Source, p.Name)
		for i := range made.Floats {
			made.Floats[i] = 2*random.Float64() - 1
		}
	}
	return made, nil
}

// randomOf returns numbers that depend on the first name that is not "".
func randomOf(names ...string) *rand.Rand {
	hash := fnv.New64a()
	for _, name := range names {
		if name != "" {
			hash.Write([]byte(name))
			break
		}
	}
	return rand.New(rand.NewPCG(hash.Sum64(), 1))
}

// Inputs returns elements for the inputs of a model: integers are 0 or 1.
func Inputs(m *ir.Model, lengths map[string]uint64) (map[string]*reference.Tensor, error) {
	made := map[string]*reference.Tensor{}
	for _, id := range m.Graph.Inputs {
		tensor, err := newInput(m, id, lengths)
		if err != nil {
			return nil, err
		}
		random := randomOf(id)
		for i := range tensor.Floats {
			tensor.Floats[i] = 2*random.Float64() - 1
		}
		for i := range tensor.Ints {
			tensor.Ints[i] = int64(random.IntN(2))
		}
		// Attention to no key at all is a case of its own: the first key is never hidden.
		if len(tensor.Ints) > 0 && tensor.Type == dtype.I64 {
			columns := int(tensor.Shape[len(tensor.Shape)-1])
			for i := 0; i < len(tensor.Ints); i += columns {
				tensor.Ints[i] = 1
			}
		}
		made[id] = tensor
	}
	return made, nil
}

// sizes converts a shape without dynamic dimensions.
func sizes(shape []int64) []uint64 {
	made := make([]uint64, len(shape))
	for i, size := range shape {
		made[i] = uint64(size)
	}
	return made
}
