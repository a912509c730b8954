package reference

import "math"

// softmax subtracts the largest element of each group before it computes exponentials.
func (r *run) softmax() {
	in, out := r.in[0], r.out[0]
	groups := kept(in.Shape, r.layout.Axes)
	largest, sum := make([]float64, count(groups)), make([]float64, count(groups))
	for group := range largest {
		largest[group] = math.Inf(-1)
	}
	each(in.Shape, func(at int, index []uint64) {
		group := offset(groups, index)
		largest[group] = max(largest[group], in.Floats[at])
	})
	each(in.Shape, func(at int, index []uint64) {
		group := offset(groups, index)
		out.Floats[at] = math.Exp(in.Floats[at] - largest[group])
		sum[group] += out.Floats[at]
	})
	each(in.Shape, func(at int, index []uint64) {
		out.Floats[at] /= sum[offset(groups, index)]
	})
}

func (r *run) layerNorm() {
	mean, inverse := layerNorm(r.in[0], r.in[1], r.in[2], r.out[0], r.layout.Axes, r.op.Float("epsilon"))
	for i, stash := range [][]float64{mean, inverse} {
		if r.out[1+i] != nil {
			copy(r.out[1+i].Floats, stash)
		}
	}
}

// layerNorm returns for each group of elements the mean and the inverse of the standard deviation. bias
// and out may be nil.
func layerNorm(in, scale, bias, out *Tensor, axes []int, epsilon float64) (mean, inverse []float64) {
	groups := kept(in.Shape, axes)
	elements := float64(sizeOf(in.Shape, axes))
	mean, inverse = make([]float64, count(groups)), make([]float64, count(groups))
	each(in.Shape, func(at int, index []uint64) {
		mean[offset(groups, index)] += in.Floats[at] / elements
	})
	each(in.Shape, func(at int, index []uint64) {
		group := offset(groups, index)
		distance := in.Floats[at] - mean[group]
		inverse[group] += distance * distance / elements
	})
	for group := range inverse {
		if elements == 0 {
			mean[group], inverse[group] = math.NaN(), math.NaN()
		}
		inverse[group] = 1 / math.Sqrt(inverse[group]+epsilon)
	}
	if out == nil {
		return mean, inverse
	}
	each(in.Shape, func(at int, index []uint64) {
		group := offset(groups, index)
		out.Floats[at] = (in.Floats[at] - mean[group]) * inverse[group] * scale.Floats[offset(scale.Shape, index)]
		if bias != nil {
			out.Floats[at] += bias.Floats[offset(bias.Shape, index)]
		}
	})
	return mean, inverse
}

// rmsNorm divides by the root of the mean of the squares. The result is the product with scale.
func rmsNorm(in, scale, out *Tensor, axes []int, epsilon float64) {
	groups := kept(in.Shape, axes)
	elements := float64(sizeOf(in.Shape, axes))
	mean := make([]float64, count(groups))
	each(in.Shape, func(at int, index []uint64) {
		mean[offset(groups, index)] += in.Floats[at] * in.Floats[at] / elements
	})
	each(in.Shape, func(at int, index []uint64) {
		root := math.Sqrt(mean[offset(groups, index)] + epsilon)
		out.Floats[at] = in.Floats[at] / root * scale.Floats[offset(scale.Shape, index)]
	})
}

// normResidual normalises the sum that it also returns. The sum is not rounded in between.
func (r *run) normResidual() {
	sum := New(r.in[0].Type, r.in[0].Shape)
	add(sum, r.in[0])
	add(sum, r.in[1])
	axes, epsilon := r.layout.Axes, r.op.Float("epsilon")
	switch {
	case r.out[0] == nil:
	case r.op.Name == "layer_norm_residual":
		layerNorm(sum, r.in[2], r.in[3], r.out[0], axes, epsilon)
	default:
		rmsNorm(sum, r.in[2], r.out[0], axes, epsilon)
	}
	if r.out[1] != nil {
		r.out[1].Floats = sum.Floats
	}
}
