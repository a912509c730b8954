package cpu

import (
	"unsafe"

	"ferrum_mem/core/dtype"
)

// Operation is an operation on each element.
type Operation int64

// The operations of Map. The order is that of interface.h. Those with two inputs are Add to
// SiLUMul.
const (
	Copy Operation = iota
	Add
	Sub
	Mul
	Div
	Pow
	SiLUMul // x / (1 + e^-x) * z
	Sqrt
	Relu
	Tanh
	Erf
	Gelu     // x (1 + erf(x / sqrt 2)) / 2
	GeluTanh // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
	Swish    // x / (1 + e^(-Factor x))
	Exp
	operations
)

// HasTwoInputs states whether the operation reads Z.
func (o Operation) HasTwoInputs() bool { return o >= Add && o <= SiLUMul }

// Map computes y = op(x) or op(x, z) for each element, in F32. Strides count elements; a
// stride of 0 broadcasts. x and z: F32, F16, BF16, I8. y: F32, F16, BF16; no two elements of y
// are at one address. Copy with two types is a conversion by the rules of core/dtype.
//
// The general form has other types: it computes in F64, or in integers of 64 bits if neither x
// nor z is floating point. Results wrap to the type of y, and those of floating point are limited
// to its range. An integer divided by 0 is 0.
//
// y may be x or z, at the same strides, if their elements have the same size. Otherwise it
// overlaps no input.
type Map struct {
	Operation Operation
	Rank      int64
	Dims      [Rank]int64
	X         uint64
	XType     Type
	XStrides  [Rank]int64
	Z         uint64
	ZType     Type
	ZStrides  [Rank]int64
	Y         uint64
	YType     Type
	YStrides  [Rank]int64
	Factor    float64
	// Saturates and Rounding are of a Copy to 8-bit floating point: Saturates is 1 if a number out
	// of range becomes the largest one, and Rounding is that to F8_E8M0.
	Saturates int64
	Rounding  Rounding
}

// Rounding is the direction of a conversion to F8_E8M0, which has only powers of two.
type Rounding int64

// The order is that of interface.h.
const (
	RoundUp Rounding = iota
	RoundDown
	RoundNearest
)

func (r *Map) kernel() kernel {
	if isInput(r.XType) && (r.Z == 0 || isInput(r.ZType)) && isOutput(r.YType) {
		return kernelMap
	}
	return generalMap
}

func (r *Map) address() unsafe.Pointer { return unsafe.Pointer(r) }

func (r *Map) layout() (uintptr, []*uint64) {
	return unsafe.Sizeof(*r), []*uint64{&r.X, &r.Z, &r.Y}
}

func (r *Map) clone() Request { c := *r; return &c }

func (r *Map) check() error {
	if r.Operation < 0 || r.Operation >= operations {
		return invalid("%d is not an operation on elements", r.Operation)
	}
	if r.Operation.HasTwoInputs() != (r.Z != 0) {
		return invalid("the operation %d on elements has the second input %#x", r.Operation, r.Z)
	}
	if err := checkBatch(r.Rank, &r.Dims); err != nil {
		return err
	}
	for _, t := range []Type{r.XType, r.ZType, r.YType} {
		if !dtype.DType(t).IsConvertible() {
			return unsupported("an operation on elements of %v", t)
		}
	}
	return nil
}

// RowOperation is an operation on rows.
type RowOperation int64

// The operations of Rows. The order is that of interface.h.
const (
	Softmax RowOperation = iota
	LayerNormalization
	RMSNormalization
	rowOperations
)

// Rows computes y = op(x + residual) for rows of N elements. The rows have dimensions; in each
// row the elements are a step apart. Absent operands have the address 0. Sum receives
// x + residual. The normalizations multiply by scale and add bias, which have N elements. Mean
// and Deviation (the inverse of the standard deviation) receive an F32 for each row, adjacent.
//
// The general form has F64 as one of its types, or a scale or a bias for each row, with strides.
//
// Inputs: F32, F16, BF16, I8. Outputs: F32, F16, BF16. y and sum may each be x or residual, at
// the same strides, if their elements have the same size; they overlap no other operand.
type Rows struct {
	Operation RowOperation
	N         int64
	Rank      int64
	Dims      [Rank]int64

	X        uint64
	XType    Type
	XStep    int64
	XStrides [Rank]int64

	Residual        uint64
	ResidualType    Type
	ResidualStep    int64
	ResidualStrides [Rank]int64

	Y        uint64
	YType    Type
	YStep    int64
	YStrides [Rank]int64

	Sum        uint64
	SumType    Type
	SumStep    int64
	SumStrides [Rank]int64

	Scale     uint64
	ScaleType Type
	ScaleStep int64

	Bias     uint64
	BiasType Type
	BiasStep int64

	Mean, Deviation uint64
	Epsilon         float64

	ScaleStrides, BiasStrides [Rank]int64
}

func (r *Rows) kernel() kernel {
	var none [Rank]int64
	isFast := isInput(r.XType) && isInput(r.ResidualType) && isInput(r.ScaleType) && isInput(r.BiasType) &&
		isOutput(r.YType) && isOutput(r.SumType) && r.ScaleStrides == none && r.BiasStrides == none
	if isFast {
		return kernelRows
	}
	return generalRows
}

func (r *Rows) address() unsafe.Pointer { return unsafe.Pointer(r) }

func (r *Rows) layout() (uintptr, []*uint64) {
	return unsafe.Sizeof(*r), []*uint64{&r.X, &r.Residual, &r.Y, &r.Sum, &r.Scale, &r.Bias, &r.Mean, &r.Deviation}
}

func (r *Rows) clone() Request { c := *r; return &c }

func (r *Rows) check() error {
	if r.Operation < 0 || r.Operation >= rowOperations {
		return invalid("%d is not an operation on rows", r.Operation)
	}
	if r.N < 0 {
		return invalid("rows of %d elements", r.N)
	}
	if r.Operation == Softmax && (r.Scale != 0 || r.Bias != 0 || r.Mean != 0 || r.Deviation != 0 || r.Sum != 0) {
		return invalid("Softmax has no scale, bias, sum, mean or deviation")
	}
	if err := checkBatch(r.Rank, &r.Dims); err != nil {
		return err
	}
	if err := checkInputs("an operation on rows", r.XType, r.ResidualType, r.ScaleType, r.BiasType); err != nil {
		return err
	}
	return checkOutputs("an operation on rows", r.YType, r.SumType)
}

func checkInputs(what string, types ...Type) error {
	for _, t := range types {
		if !isInput(t) && dtype.DType(t) != dtype.F64 {
			return unsupported("%s with an input of %v", what, t)
		}
	}
	return nil
}

func checkOutputs(what string, types ...Type) error {
	for _, t := range types {
		if !isOutput(t) && dtype.DType(t) != dtype.F64 {
			return unsupported("%s with a result of %v", what, t)
		}
	}
	return nil
}
