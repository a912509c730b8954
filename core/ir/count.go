package ir

import (
	"cmp"
	"iter"
	"math/bits"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/strided"
)

const opCount = "ir.count"

// Counts are sums over the parameters of a model. Constants are not counted. Parameters or parts with
// the same Source, type and shape are tied, and counted once.
type Counts struct {
	// Parameters is the number of elements.
	Parameters uint64 `json:"parameters"`
	Bytes      uint64 `json:"bytes"`
	// Types has the sums for each data type, in the order of their numbers.
	Types []TypeCounts `json:"types"`
}

// TypeCounts are the sums over the parameters of a data type.
type TypeCounts struct {
	DType      dtype.DType `json:"dtype"`
	Tensors    uint64      `json:"tensors"`
	Parameters uint64      `json:"parameters"`
	Bytes      uint64      `json:"bytes"`
}

// tie identifies the tensor of the weights that parameters share.
type tie struct {
	source, shape string
	dtype         dtype.DType
}

// Count counts the parameters. Errors: CodeInvalidConfig for a parameter whose shape or type is not
// possible; CodeOverflow for sums above 2^64.
func (m *Model) Count() (Counts, error) {
	sums := map[dtype.DType]*TypeCounts{}
	seen := map[tie]bool{}
	for i, p := range wholes(m.Parameters) {
		t := tie{p.Source, strided.Text(p.Shape), p.DType}
		if p.IsConstant() || seen[t] {
			continue
		}
		seen[t] = p.Source != ""
		elements, size, wrong := extent(p.Shape, p.DType)
		if wrong != "" {
			return Counts{}, device.Errorf(device.CodeInvalidConfig, opCount, "%s: the parameter %s %s", elementPath("parameters", i), quoted(p.Name), wrong)
		}
		sum := sums[p.DType]
		if sum == nil {
			sum = &TypeCounts{DType: p.DType}
			sums[p.DType] = sum
		}
		sum.Tensors++
		if !grow(&sum.Parameters, elements) || !grow(&sum.Bytes, size) {
			return Counts{}, tooMany()
		}
	}
	c := Counts{Types: []TypeCounts{}}
	for _, sum := range sums {
		if !grow(&c.Parameters, sum.Parameters) || !grow(&c.Bytes, sum.Bytes) {
			return Counts{}, tooMany()
		}
		c.Types = append(c.Types, *sum)
	}
	sorting.By(c.Types, func(a, b TypeCounts) int { return cmp.Compare(a.DType, b.DType) })
	return c, nil
}

// wholes visits the parameters without parts, and the parts of the others, each with the position of its
// parameter.
func wholes(parameters []Parameter) iter.Seq2[int, *Parameter] {
	return func(yield func(int, *Parameter) bool) {
		for i := range parameters {
			tensors := parameters[i].Parts
			if len(tensors) == 0 {
				tensors = parameters[i : i+1]
			}
			for j := range tensors {
				if !yield(i, &tensors[j]) {
					return
				}
			}
		}
	}
}

func tooMany() error {
	return device.Errorf(device.CodeOverflow, opCount, "the parameters have more than 2^64 elements or bytes")
}

// grow adds to a sum. It returns false on an overflow.
func grow(sum *uint64, more uint64) bool {
	total, carry := bits.Add64(*sum, more, 0)
	*sum = total
	return carry == 0
}

// IsConstant states whether the definition has the elements.
func (p *Parameter) IsConstant() bool { return len(p.Value) > 0 }

// extent returns the elements and the size in bytes of a tensor without dynamic dimensions. wrong states
// why it is not possible.
func extent(shape []int64, t dtype.DType) (elements, size uint64, wrong string) {
	lengths := make([]uint64, len(shape))
	for i, length := range shape {
		if length <= 0 {
			return 0, 0, "has the shape " + shapeText(shape) + ": each dimension must be at least 1"
		}
		lengths[i] = uint64(length)
	}
	return sizeOf(lengths, t)
}

// sizeOf returns the elements and the size in bytes of a tensor. wrong states why it is not possible.
func sizeOf(shape []uint64, t dtype.DType) (elements, size uint64, wrong string) {
	each, bytes := t.Block()
	elements, fits := strided.Count(shape)
	switch {
	case each == 0:
		return 0, 0, "has a data type that is not known"
	case len(shape) > strided.MostDimensions:
		return 0, 0, "has " + device.Count(len(shape), "dimension") + ": at most " + device.Count(strided.MostDimensions, "dimension") + " are possible"
	case !fits:
		return 0, 0, "has the shape " + shapeText(shape) + ": its number of elements is above 2^63"
	case t >= dtype.GGUFBase && (len(shape) == 0 || shape[len(shape)-1]%each != 0):
		return 0, 0, "has the shape " + shapeText(shape) + ": the last dimension must be a multiple of " + device.Count(each, "element") + ", a block of " + t.String()
	}
	high, size := bits.Mul64(elements/each+min(elements%each, 1), bytes)
	if high != 0 || size > 1<<63-1 {
		return 0, 0, "has the shape " + shapeText(shape) + ": its size is above 2^63 bytes"
	}
	return elements, size, ""
}

// shapeText formats a shape for messages, without the end of a long one.
func shapeText[N int64 | uint64](shape []N) string {
	const most = 16
	if len(shape) > most {
		return strings.TrimSuffix(strided.Text(shape[:most]), "]") + ", ...]"
	}
	return strided.Text(shape)
}
