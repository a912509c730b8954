package cpu

import (
	"unsafe"

	"ferrum_mem/core/dtype"
)

// Reduction is an operation of Reduce.
type Reduction int64

// The order is that of interface.h.
const (
	ReduceSum Reduction = iota
	ReduceMean
	ReduceMax
	reductions
)

// Reduce computes the sum, mean or maximum over some dimensions of x. Dims are those that stay,
// which y has; Reduced are the others. Strides count elements. Sums of long runs are in F64. NaN
// is the result where an element is NaN. Of no elements the sum is 0, the mean is NaN and the
// maximum is -infinity. x: F32, F16, BF16, I8; y: F32, F16, BF16. y overlaps no input.
//
// The general form has one type for x and y: F64, an integer or BOOL. Means of integers drop the
// fraction; of no elements the mean is 0 and the maximum is the least number of the type.
type Reduce struct {
	Operation      Reduction
	Rank           int64
	Dims           [Rank]int64
	ReducedRank    int64
	Reduced        [Rank]int64
	X              uint64
	XType          Type
	XStrides       [Rank]int64
	ReducedStrides [Rank]int64
	Y              uint64
	YType          Type
	YStrides       [Rank]int64
}

func (r *Reduce) kernel() kernel {
	if isInput(r.XType) && isOutput(r.YType) {
		return kernelReduce
	}
	return generalReduce
}

func (r *Reduce) address() unsafe.Pointer { return unsafe.Pointer(r) }

func (r *Reduce) layout() (uintptr, []*uint64) {
	return unsafe.Sizeof(*r), []*uint64{&r.X, &r.Y}
}

func (r *Reduce) clone() Request { c := *r; return &c }

func (r *Reduce) check() error {
	if r.Operation < 0 || r.Operation >= reductions {
		return invalid("%d is not a reduction", r.Operation)
	}
	if err := checkBatch(r.Rank, &r.Dims); err != nil {
		return err
	}
	if err := checkBatch(r.ReducedRank, &r.Reduced); err != nil {
		return err
	}
	if r.kernel() == kernelReduce || r.XType == r.YType && (r.XType.isNumber() || r.XType.isOf(dtype.Bool)) {
		return nil
	}
	return unsupported("a reduction of %v to %v", r.XType, r.YType)
}
