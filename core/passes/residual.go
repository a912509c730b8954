package passes

import (
	"slices"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
)

// fuseNorms joins an addition with the norm that follows it. If other nodes read the sum, the joined node
// has it as its second output.
func fuseNorms(n *network) error {
	for _, at := range n.sorted {
		full, isNorm := fusedNorm(at)
		sum := at.input(0).from
		if !isNorm || !sum.is("Add") || sum.isOutput || len(sum.layer.Outputs) != 1 || !n.areAlike(sum.input(0), sum.input(1)) {
			continue
		}
		in := append([]source{sum.input(0), sum.input(1)}, at.in[1:]...)
		if isDoubled(in) {
			continue
		}
		outputs := slices.Clone(at.layer.Outputs)
		isShared := slices.ContainsFunc(sum.users, func(u use) bool { return u.by != at })
		if isShared {
			outputs = append(outputs, sum.layer.Outputs[0])
		}
		config := attributes{}
		if epsilon, isGiven := at.layer.Config["epsilon"]; isGiven {
			config["epsilon"] = epsilon
		}
		added := source{from: at, output: 1}
		n.addOutput(added, sum.first())
		n.rewrite(at, n.newLayer(at.layer, full, config, in, outputs), in)
		if isShared {
			n.replace(sum.first(), added)
		}
	}
	return nil
}

// fusedNorm returns the operator that joins an addition with a norm. The norm is over the last dimension,
// has the scale and bias as parameters of this dimension, and one output.
func fusedNorm(at *node) (full string, isNorm bool) {
	switch {
	case at.is("LayerNormalization"):
		full = "ferrum.layer_norm_residual"
	case at.is("RMSNormalization"):
		full = "ferrum.rms_norm_residual"
	default:
		return "", false
	}
	x := at.input(0).tensor()
	last := int64(len(x.Shape) - 1)
	if axis := at.operator.Int("axis"); axis != -1 && axis != last || len(at.layer.Outputs) != 1 {
		return "", false
	}
	if stash, _ := at.operator.DataType("stash_type"); stash != dtype.F32 {
		return "", false
	}
	for _, in := range at.in[1:] {
		if in.isAbsent() {
			continue
		}
		p := in.parameter
		if p == nil || p.DType != x.DType || x.Shape[last] == ir.Dynamic || !slices.Equal(p.Shape, x.Shape[last:]) {
			return "", false
		}
	}
	return full, true
}
