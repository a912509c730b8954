package passes

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/strided"
)

// sampleTokens is the length of the dimension "sequence" at which memory is measured if the caller
// states none. Other dimensions have the length 1.
const sampleTokens = 128

// SampleLengths returns the lengths at which the memory of a model is measured if the caller states
// none: 128 tokens, or the most that the model takes, of one text. Errors: those of ir.Model.Resolve.
func SampleLengths(m *ir.Model) (map[string]uint64, error) {
	resolved, err := m.Resolve()
	if err != nil {
		return nil, err
	}
	return sampleLengths(resolved), nil
}

func sampleLengths(m *ir.Resolved) map[string]uint64 {
	lengths := map[string]uint64{}
	for _, name := range m.DynamicDims() {
		lengths[name] = 1
		if name == "sequence" {
			lengths[name] = sampleTokens
			if most := m.Model.Architecture.Dimensions.MaxSequenceLength; most > 0 {
				lengths[name] = min(sampleTokens, most)
			}
		}
	}
	return lengths
}

// measured is what a model needs at some lengths of its dynamic dimensions.
type measured struct {
	elements, operations, parameterBytes uint64
	// activationBytes is the size of all tensors that a run writes: inputs and views are not among them.
	activationBytes uint64
	// shapes is nil after an error.
	shapes *ir.Shapes
	err    error
}

// measure measures a model. After an error the numbers are those that do not depend on it.
func measure(resolved *ir.Resolved, lengths map[string]uint64) (of measured) {
	m := resolved.Model
	counts, err := m.Count()
	if err != nil {
		return measured{err: err}
	}
	of.elements, of.parameterBytes = counts.Parameters, counts.Bytes
	for _, at := range resolved.Nodes {
		if at.Operator != nil {
			of.operations++
		}
	}
	if of.shapes, of.err = resolved.Infer(lengths); of.err != nil {
		return of
	}
	for i, at := range resolved.Nodes {
		if at.Operator == nil || isView(m.Layers[at.Layer].Type) {
			continue
		}
		for _, v := range of.shapes.Nodes[i].Outputs {
			if !v.IsAbsent {
				of.activationBytes = add(of.activationBytes, bytesOf(v))
			}
		}
	}
	return of
}

// isView states whether the outputs of an operator are the memory of its input, with another shape or as
// parts of it.
func isView(full string) bool {
	switch full {
	case "Reshape", "Squeeze", "Unsqueeze", "Split", "Slice":
		return true
	}
	return false
}

func bytesOf(v operator.Value) uint64 {
	count, _ := strided.Count(v.Shape)
	each, width := v.Type.Block()
	return (count/each + min(count%each, 1)) * width
}

// Compare measures what a change of a model removed, at some lengths of its dynamic dimensions. warning is
// not "" if the changed model needs more memory. Errors: those of ir.Model.Count and ir.Model.Infer. After an error the
// numbers are those that do not depend on the lengths, if there are any.
func Compare(before, after *ir.Model, lengths map[string]uint64) (s Stats, warning string, err error) {
	old, err := before.Resolve()
	if err != nil {
		return Stats{EstimatedSpeedup: 1}, "", err
	}
	made, err := after.Resolve()
	if err != nil {
		return Stats{EstimatedSpeedup: 1}, "", err
	}
	return difference(measure(old, lengths), measure(made, lengths))
}

// difference is Compare for measured models.
func difference(b, a measured) (s Stats, warning string, err error) {
	if err = b.err; err == nil {
		err = a.err
	}
	needed, needs := add(b.parameterBytes, b.activationBytes), add(a.parameterBytes, a.activationBytes)
	if err != nil {
		needed, needs = b.parameterBytes, a.parameterBytes
	}
	if needs > needed {
		warning = fmt.Sprintf("the changed model needs %v more memory", device.Size(needs-needed))
	}
	return Stats{
		ParametersEliminated: less(b.elements, a.elements), OperationsEliminated: less(b.operations, a.operations),
		MemorySaved: less(needed, needs), EstimatedSpeedup: 1,
	}, warning, err
}

// less returns a - b, or 0 if b is larger.
func less(a, b uint64) uint64 { return a - min(a, b) }
