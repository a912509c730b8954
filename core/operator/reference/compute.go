package reference

import "ferrum_mem/core/device"

// compute calls the function of the operator.
func (r *run) compute() error {
	switch r.op.Name {
	case "Cast":
		return r.cast()
	case "Gather":
		return r.gather()
	case "RotaryEmbedding":
		return r.rotate()
	case "paged_attention":
		return r.pagedAttention()
	}
	if !r.isElementwise() && !r.move() && !r.combine() {
		return device.Errorf(device.CodeInternal, opRun, "%s has no reference", r.op.Name)
	}
	return nil
}

// isElementwise computes an operator on single elements. It returns false for another operator.
func (r *run) isElementwise() bool {
	switch r.op.Name {
	case "Add", "Sub", "Mul", "Div", "Pow":
		r.binary()
	case "Sqrt", "Tanh", "Erf", "Relu", "Gelu", "Swish":
		r.unary()
	case "Where":
		r.where()
	case "silu_mul":
		r.siluMul()
	default:
		return false
	}
	return true
}

// move computes the operators that copy elements. It returns false for another operator.
func (r *run) move() bool {
	switch r.op.Name {
	case "Expand":
		r.expand()
	case "Reshape", "Squeeze", "Unsqueeze":
		r.same()
	case "Transpose":
		r.transpose()
	case "Slice":
		r.slice()
	case "Concat":
		r.concat()
	case "Split":
		r.split()
	default:
		return false
	}
	return true
}

// combine computes the operators that combine elements. It returns false for another operator.
func (r *run) combine() bool {
	switch r.op.Name {
	case "ReduceSum", "ReduceMean":
		r.sum()
	case "ReduceMax":
		r.largest()
	case "ArgMax":
		r.argMax()
	case "TopK":
		r.topK()
	case "MatMul":
		r.matMul()
	case "Gemm":
		r.gemm()
	case "linear", "quantized_linear":
		r.linear()
	case "Softmax":
		r.softmax()
	case "LayerNormalization":
		r.layerNorm()
	case "RMSNormalization":
		rmsNorm(r.in[0], r.in[1], r.out[0], r.layout.Axes, r.op.Float("epsilon"))
	case "rms_norm_residual", "layer_norm_residual":
		r.normResidual()
	case "Attention":
		r.attention()
	case "self_attention":
		r.selfAttention()
	default:
		return false
	}
	return true
}
