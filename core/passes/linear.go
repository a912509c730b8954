package passes

import (
	"slices"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
)

// The inputs of the operators linear and quantized_linear: X, W, the bias, and a residual that is added
// after the activation.
const (
	linearX = iota
	linearW
	linearBias
	linearResidual
)

// linear and quantizedLinear are the types of layers that multiply with a matrix.
const (
	linear          = "ferrum.linear"
	quantizedLinear = "ferrum.quantized_linear"
)

// isLinear states whether a node is a product with a matrix.
func (at *node) isLinear() bool { return at.is(linear, quantizedLinear) }

// activation returns the name of the activation of a product with a matrix.
func (at *node) activation() string { return at.operator.Text("activation") }

// isOpen states whether a node is a product with a matrix to which a pass may add what follows it: one
// input reads it, it is no output of the model, and it has no residual.
func (at *node) isOpen() bool {
	return at != nil && at.isLinear() && at.hasOneUser() && at.input(linearResidual).isAbsent()
}

// sources returns the four sources of a product with a matrix.
func (at *node) sources() []source {
	return []source{at.input(linearX), at.input(linearW), at.input(linearBias), at.input(linearResidual)}
}

// absorb makes a node the product with a matrix before it, with another attribute or other sources. The
// node keeps its id, so it stays an output of the model if it is one. The product is then without a use.
func (n *network) absorb(at, product *node, config attributes, in []source) {
	if isDoubled(in) {
		return
	}
	n.rewrite(at, n.newLayer(product.layer, product.layer.Type, config, in, at.layer.Outputs), in)
}

// fuseActivations joins a product with a matrix with the bias and the activation that follow it, and gate
// and product of a gated layer.
func fuseActivations(n *network) error {
	for _, at := range n.sorted {
		switch {
		case at.is("Add"):
			n.fuseBias(at)
		case at.is("Mul"):
			n.fuseGate(at)
		}
	}
	for _, at := range n.sorted {
		name := activationOf(at)
		if product := at.input(0).from; name != "" && product.isOpen() && product.activation() == "none" {
			n.absorb(at, product, with(product.layer.Config, "activation", name), product.sources())
		}
	}
	return nil
}

// activationOf returns the name that the attribute "activation" has for the function of a node, or "".
func activationOf(at *node) string {
	switch {
	case at.is("Relu"):
		return "relu"
	case at.is("Gelu") && at.operator.Text("approximate") == "tanh":
		return "gelu_tanh"
	case at.is("Gelu"):
		return "gelu"
	case at.is("Swish") && at.operator.Float("alpha") == 1:
		return "silu"
	}
	return ""
}

// fuseBias makes the addition of a vector to a product with a matrix the bias of the product.
func (n *network) fuseBias(at *node) {
	for input := range 2 {
		product, bias := at.input(input).from, at.input(1-input).parameter
		if bias == nil || !product.isOpen() || product.activation() != "none" || !product.input(linearBias).isAbsent() {
			continue
		}
		rows := product.input(linearW).tensor().Shape[0]
		if slices.Equal(bias.Shape, []int64{rows}) {
			in := product.sources()
			in[linearBias] = source{parameter: bias}
			n.absorb(at, product, product.layer.Config, in)
			return
		}
	}
}

// fuseGate joins the activation of a gate with the product of the gate and another value.
func (n *network) fuseGate(at *node) {
	for input := range 2 {
		gate, up := at.input(input).from, at.input(1-input)
		if gate == nil || !gate.hasOneUser() || activationOf(gate) != "silu" || !n.areAlike(gate.first(), up) {
			continue
		}
		in := []source{gate.input(0), up}
		if !isDoubled(in) {
			n.rewrite(at, n.newLayer(at.layer, "ferrum.silu_mul", nil, in, at.layer.Outputs), in)
		}
		return
	}
}

// fuseResiduals joins a product with a matrix with the addition that follows it.
func fuseResiduals(n *network) error {
	for _, at := range n.sorted {
		if !at.is("Add") {
			continue
		}
		for input := range 2 {
			product, residual := at.input(input).from, at.input(1-input)
			if product.isOpen() && n.areAlike(product.first(), residual) {
				in := product.sources()
				in[linearResidual] = residual
				n.absorb(at, product, product.layer.Config, in)
				break
			}
		}
	}
	return nil
}

// blockType is a data type of blocks: the number of elements of a block.
type blockType struct {
	dtype    dtype.DType
	elements int64
}

// quantize changes the products with a matrix so that the matrix is stored in blocks of 8-bit or 4-bit
// numbers. The elements of the weights are rounded when they are loaded. A matrix that another operator
// reads too stays as it is.
func quantize(n *network, to blockType) error {
	others := map[*ir.Parameter]bool{}
	for _, at := range n.nodes {
		for input, in := range at.in {
			if in.parameter != nil && !(at.is(linear) && input == linearW) {
				others[in.parameter] = true
			}
		}
	}
	stored := map[*ir.Parameter]*ir.Parameter{}
	for _, at := range n.nodes {
		if !at.is(linear) {
			continue
		}
		matrix := at.input(linearW).parameter
		switch {
		case matrix == nil || !matrix.DType.IsFloat():
			continue
		case others[matrix]:
			n.warn("the matrix " + matrix.Name + " is not quantised: another operator reads it")
			continue
		case matrix.Shape[1]%to.elements != 0:
			n.warn("the matrix " + matrix.Name + " is not quantised: the length of its rows is not a multiple of a block")
			continue
		}
		if stored[matrix] == nil {
			stored[matrix] = n.addQuantized(matrix, to)
		}
		in := slices.Clone(at.in)
		in[linearW] = source{parameter: stored[matrix]}
		n.rewrite(at, n.newLayer(at.layer, quantizedLinear, at.layer.Config, in, at.layer.Outputs), in)
	}
	return nil
}

// addQuantized adds a matrix with another type in the place of one that no node reads afterwards. It keeps
// the name.
func (n *network) addQuantized(matrix *ir.Parameter, to blockType) *ir.Parameter {
	made := *matrix
	made.DType = to.dtype
	made.Parts = slices.Clone(matrix.Parts)
	for i := range made.Parts {
		made.Parts[i].DType = to.dtype
	}
	n.parameters[slices.Index(n.parameters, matrix)] = &made
	n.isNew[&made] = true
	return &made
}
