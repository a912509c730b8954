package cpu

import "unsafe"

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

func (*Reduce) kernel() kernel { return kernelReduce }

func (r *Reduce) address() unsafe.Pointer { return unsafe.Pointer(r) }

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
	if err := checkInputs("a reduction", r.XType); err != nil {
		return err
	}
	return checkOutputs("a reduction", r.YType)
}
