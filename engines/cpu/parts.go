package cpu

// Programs whose outputs are computed part by part, along one dimension.
//
// Most kernels compute each element, or each row, in one way, so its bits do not depend on the others. A kernel
// for few rows or few elements may sum in another order: a part that such a kernel would compute is no part of a
// program that another kernel computes.

// Divides states whether the program computes the same bits part by part. part is the program of one part. Its
// products have at least `least` rows, or half of the rows if these are at least `fewest`.
func (p *Program) Divides(part *Program, least, fewest int64) bool {
	if len(p.requests) != len(part.requests) {
		return false
	}
	for i, whole := range p.requests {
		if whole.kernel() != part.requests[i].kernel() || !divides(whole, part.requests[i], least, fewest) {
			return false
		}
	}
	return true
}

// divides is Divides for two requests with the same kernel.
func divides(whole, part Request, least, fewest int64) bool {
	switch w := whole.(type) {
	case *MatMul:
		p := part.(*MatMul)
		// One row has a kernel of its own. The columns decide how that kernel sums.
		isSame := w.N == p.N && w.K == p.K && (w.M == 1) == (p.M == 1)
		return isSame && p.rows() >= min(least, max(fewest, w.rows()/2))
	case *Attention:
		// If a result is NaN, the kernel for few keys computes all sequences again.
		return w.kernel() != kernelFew
	case *Reduce:
		// Results that are adjacent in x are computed together.
		return w.hasAdjacent() == part.(*Reduce).hasAdjacent()
	}
	return true
}

// rows returns the rows of all products of a request.
func (r *MatMul) rows() int64 {
	rows := r.M
	for _, n := range r.Batch[:r.BatchRank] {
		rows *= n
	}
	return rows
}

// hasAdjacent states whether the results along the last dimension with several come from adjacent elements.
func (r *Reduce) hasAdjacent() bool {
	for axis := r.Rank - 1; axis >= 0; axis-- {
		if r.Dims[axis] != 1 {
			return r.XStrides[axis] == 1
		}
	}
	return false
}
