package cpu

import "unsafe"

// Where computes y = condition ? x : z, for elements of 1, 2, 4 or 8 bytes, whatever their type is.
// condition is BOOL. Strides count elements; a stride of 0 broadcasts. y may be x or z, at the same
// strides. Otherwise it overlaps no input.
type Where struct {
	Bytes            int64
	Rank             int64
	Dims             [Rank]int64
	Condition        uint64
	ConditionStrides [Rank]int64
	X                uint64
	XStrides         [Rank]int64
	Z                uint64
	ZStrides         [Rank]int64
	Y                uint64
	YStrides         [Rank]int64
}

func (*Where) kernel() kernel { return kernelWhere }

func (r *Where) address() unsafe.Pointer { return unsafe.Pointer(r) }

func (r *Where) layout() (uintptr, []*uint64) {
	return unsafe.Sizeof(*r), []*uint64{&r.Condition, &r.X, &r.Z, &r.Y}
}

func (r *Where) clone() Request { c := *r; return &c }

func (r *Where) check() error {
	switch r.Bytes {
	case 1, 2, 4, 8:
		return checkBatch(r.Rank, &r.Dims)
	}
	return unsupported("choices of elements of %d bytes each", r.Bytes)
}

// Top finds the K largest elements of each line of N elements, in descending order, or the
// smallest in ascending order if IsSmallest is 1. NaN is the largest. Of equal elements the one with
// the lower index comes first, or the one with the higher index if PrefersLast is 1. Values have the
// type of x, Indices are I64; either may be absent (0). Lines have dimensions, and their elements
// are a step apart. x: F32, F16, BF16, I8; general: any number. Outputs overlap no input.
type Top struct {
	N, K, IsSmallest, PrefersLast int64
	Rank                          int64
	Dims                          [Rank]int64

	X        uint64
	XType    Type
	XStep    int64
	XStrides [Rank]int64

	Values        uint64
	ValuesStep    int64
	ValuesStrides [Rank]int64

	Indices        uint64
	IndicesStep    int64
	IndicesStrides [Rank]int64
}

func (r *Top) kernel() kernel {
	if isInput(r.XType) {
		return kernelTop
	}
	return generalTop
}

func (r *Top) address() unsafe.Pointer { return unsafe.Pointer(r) }

func (r *Top) layout() (uintptr, []*uint64) {
	return unsafe.Sizeof(*r), []*uint64{&r.X, &r.Values, &r.Indices}
}

func (r *Top) clone() Request { c := *r; return &c }

func (r *Top) check() error {
	switch {
	case r.N < 0 || r.K < 0 || r.K > r.N:
		return invalid("the %d largest of %d elements", r.K, r.N)
	case !r.XType.isNumber():
		return unsupported("the largest elements of %v", r.XType)
	}
	return checkBatch(r.Rank, &r.Dims)
}
