package reference

import (
	"encoding/binary"
	"math"

	"ferrum_mem/core/dtype"
)

// Tensor has the elements of a tensor in row-major order.
type Tensor struct {
	Type  dtype.DType
	Shape []uint64
	// Floats has the elements of floating-point types and of block types. The elements of a result
	// are not rounded to Type.
	Floats []float64
	// Ints has the elements of integer types and of BOOL. U64 has the same 64 bits as a signed
	// number.
	Ints []int64
}

// New returns a tensor of zeros.
func New(t dtype.DType, shape []uint64) *Tensor {
	made := &Tensor{Type: t, Shape: shape}
	if made.isFloat() {
		made.Floats = make([]float64, made.count())
	} else {
		made.Ints = make([]int64, made.count())
	}
	return made
}

// FromBytes reads elements as they are in memory. data has at least the size of the shape. Errors:
// those of core/dtype.
func FromBytes(t dtype.DType, shape []uint64, data []byte) (*Tensor, error) {
	made := New(t, shape)
	if t >= dtype.GGUFBase {
		singles := make([]float32, len(made.Floats))
		if err := dtype.Dequantise(t, singles, data); err != nil {
			return nil, err
		}
		for i, value := range singles {
			made.Floats[i] = float64(value)
		}
		return made, nil
	}
	// Two elements of a 4-bit type share a byte: an odd number of them has one element more.
	each, _ := t.Block()
	elements := (made.count() + each - 1) / each * each
	wide := make([]byte, 8*elements)
	if err := dtype.Convert(made.wide(), wide, t, data); err != nil {
		return nil, err
	}
	for i := range made.count() {
		bits := binary.LittleEndian.Uint64(wide[8*i:])
		if made.isFloat() {
			made.Floats[i] = math.Float64frombits(bits)
		} else {
			made.Ints[i] = int64(bits)
		}
	}
	return made, nil
}

// Bytes returns the elements as they are in memory, rounded to the type. Errors: those of
// core/dtype.
func (t *Tensor) Bytes() ([]byte, error) {
	each, bytes := t.Type.Block()
	elements := (t.count() + each - 1) / each * each
	wide := make([]byte, 8*elements)
	for i, value := range t.Floats {
		binary.LittleEndian.PutUint64(wide[8*i:], math.Float64bits(value))
	}
	for i, value := range t.Ints {
		binary.LittleEndian.PutUint64(wide[8*i:], uint64(value))
	}
	data := make([]byte, elements/each*bytes)
	return data, dtype.Convert(t.Type, data, t.wide(), wide)
}

func (t *Tensor) isFloat() bool { return t.Type.IsFloat() || t.Type >= dtype.GGUFBase }

// wide is the type in which elements are computed.
func (t *Tensor) wide() dtype.DType {
	if t.isFloat() {
		return dtype.F64
	}
	return dtype.I64
}

func (t *Tensor) count() uint64 { return count(t.Shape) }

// number returns an element in floating point.
func (t *Tensor) number(at int) float64 {
	switch {
	case t.isFloat():
		return t.Floats[at]
	case t.Type == dtype.U64:
		return float64(uint64(t.Ints[at]))
	}
	return float64(t.Ints[at])
}

// copyFrom sets an element to one of another tensor of the same type.
func (t *Tensor) copyFrom(at int, from *Tensor, source int) {
	if t.isFloat() {
		t.Floats[at] = from.Floats[source]
	} else {
		t.Ints[at] = from.Ints[source]
	}
}

// isLess orders elements of one tensor. NaN is the largest.
func (t *Tensor) isLess(a, b int) bool {
	switch {
	case t.isFloat():
		x, y := t.Floats[a], t.Floats[b]
		return x < y || math.IsNaN(y) && !math.IsNaN(x)
	case t.Type == dtype.U64:
		return uint64(t.Ints[a]) < uint64(t.Ints[b])
	}
	return t.Ints[a] < t.Ints[b]
}

// wrap reduces integers to the range of the type.
func (t *Tensor) wrap() error {
	if t.isFloat() {
		return nil
	}
	data, err := t.Bytes()
	if err != nil {
		return err
	}
	wrapped, err := FromBytes(t.Type, t.Shape, data)
	if err == nil {
		t.Ints = wrapped.Ints
	}
	return err
}
