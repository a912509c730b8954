package estimate

import "ferrum_mem/core/device"

// LimitedBy is the reason why a search ended.
type LimitedBy string

// The limits of the longest context and the largest batch.
const (
	// ByMemory: one more does not fit.
	ByMemory LimitedBy = "memory"
	// ByModel: the model allows no more.
	ByModel LimitedBy = "model"
	// ByNothing: more than 2^40 would fit, or nothing that is known grows.
	ByNothing LimitedBy = "nothing"
)

// Most is the largest value that fits; 0: not even 1 fits. With ByNothing the value has
// no meaning.
type Most struct {
	Value     uint64
	LimitedBy LimitedBy
}

// Verdict states whether a plan fits into free memory, and what would fit.
type Verdict struct {
	Plan
	Fits bool
	// FreeBytes is the free memory, LeftBytes what remains, MissingBytes what is
	// missing.
	FreeBytes    uint64
	LeftBytes    uint64
	MissingBytes uint64
	// MaxContext is the longest context at the requested batch, MaxBatch the largest
	// batch at the requested context. Each value fits, and one more does not fit unless
	// LimitedBy states another reason.
	MaxContext Most
	MaxBatch   Most
}

// Fit computes whether a serving fits into freeBytes on each of the devices of the
// model. Errors: those of Plan.
func (x *Subject) Fit(s Serving, freeBytes uint64) (Verdict, error) {
	plan, err := x.Plan(s)
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{Plan: plan, FreeBytes: freeBytes, Fits: plan.TotalBytes <= freeBytes}
	if v.Fits {
		v.LeftBytes = freeBytes - plan.TotalBytes
	} else {
		v.MissingBytes = plan.TotalBytes - freeBytes
	}
	top, end := uint64(maxNumber), ByNothing
	if x.Model != nil && x.Model.PositionsLearned {
		top, end = x.Model.Positions, ByModel
	}
	v.MaxContext, err = x.most(s, freeBytes, top, end, func(s *Serving, n uint64) { s.Context = n })
	if err != nil {
		return Verdict{}, err
	}
	v.MaxBatch, err = x.most(s, freeBytes, maxNumber, ByNothing, func(s *Serving, n uint64) { s.Batch = n })
	if err != nil {
		return Verdict{}, err
	}
	return v, nil
}

// most finds the number by bisection. This is correct because a plan never shrinks when
// its context or batch grows; tests enforce that.
func (x *Subject) most(s Serving, freeBytes, top uint64, end LimitedBy, set func(*Serving, uint64)) (Most, error) {
	fits := func(n uint64) (bool, error) {
		set(&s, n)
		plan, err := x.Plan(s)
		// A plan that overflows does not fit either.
		if device.CodeOf(err) == device.CodeOverflow {
			return false, nil
		}
		return err == nil && plan.TotalBytes <= freeBytes, err
	}
	all, err := fits(top)
	if err != nil {
		return Most{}, err
	}
	if all {
		return Most{Value: top, LimitedBy: end}, nil
	}
	// low fits or is 0, high does not fit.
	low, high := uint64(0), top
	for high-low > 1 {
		middle := low + (high-low)/2
		good, err := fits(middle)
		if err != nil {
			return Most{}, err
		}
		if good {
			low = middle
		} else {
			high = middle
		}
	}
	return Most{Value: low, LimitedBy: ByMemory}, nil
}
