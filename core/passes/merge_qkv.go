package passes

import (
	"fmt"
	"slices"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
)

// mergeProjections joins the products that make the queries, keys and values of an attention from one
// tensor. The matrix of the joined product is a parameter whose Parts are the matrices of the three, one
// after another, so its elements are made as before and the product has the same bits.
//
// A plain attention among the tokens of one tensor reads the joined product as it is (self_attention).
// Otherwise a Split gives the parts. Its outputs are views in an executor, which costs nothing.
func mergeProjections(n *network) error {
	finder := projectionFinder{network: n, claimed: map[*node]bool{}, users: map[*ir.Parameter]int{}, tied: map[string]int{}}
	for _, at := range n.nodes {
		for _, in := range at.in {
			if in.parameter != nil {
				finder.users[in.parameter]++
			}
		}
	}
	for _, p := range n.parameters {
		if p.Source != "" {
			finder.tied[p.Source]++
		}
	}
	groups := []*projections{}
	// sharing counts the groups with the same parameters: layers that several nodes use.
	sharing := map[string]int{}
	for _, at := range n.nodes {
		if !at.is("Attention") {
			continue
		}
		if g := finder.find(at); g != nil {
			groups = append(groups, g)
			sharing[g.key()]++
		}
	}
	joined := map[string]*mergedParameters{}
	for _, g := range groups {
		if p := finder.shared(g, sharing[g.key()]); p != nil {
			n.warn(fmt.Sprintf("the queries, keys and values of %s were not merged: something else reads %s", g.attention.ID, p.Name))
			continue
		}
		if joined[g.key()] == nil {
			joined[g.key()] = n.mergeParameters(g)
		}
		n.merge(g, joined[g.key()])
	}
	return nil
}

// projections are the products of one tensor that an attention reads, in the order of its inputs.
type projections struct {
	attention *node
	products  []*node
	// isWhole states that the products are the queries, keys and values themselves.
	isWhole bool
}

// mergedParameters are the joined matrix and bias. bias is nil if the products have none.
type mergedParameters struct{ matrix, bias *ir.Parameter }

// projectionFinder finds the products of attentions.
type projectionFinder struct {
	*network
	// claimed has the products of a group.
	claimed map[*node]bool
	// users is the number of inputs of nodes that read each parameter.
	users map[*ir.Parameter]int
	// tied is the number of parameters that have the elements of each tensor of the weights.
	tied map[string]int
}

// find returns the largest group of products of one tensor that an attention reads; nil: there is none.
func (f *projectionFinder) find(attention *node) *projections {
	var candidates []*node
	isDirect := true
	for input := range 3 {
		from := attention.input(input).from
		if from.is("RotaryEmbedding") {
			isDirect = false
			from = from.input(0).from
		}
		if from.isProjection() && !f.claimed[from] && !slices.Contains(candidates, from) {
			candidates = append(candidates, from)
		}
	}
	var best []*node
	for _, first := range candidates {
		group := slices.DeleteFunc(slices.Clone(candidates), func(other *node) bool { return !isSimilar(first, other) })
		if len(group) > len(best) {
			best = group
		}
	}
	if len(best) < 2 {
		return nil
	}
	for _, product := range best {
		f.claimed[product] = true
	}
	return &projections{attention: attention, products: best, isWhole: isDirect && len(best) == 3}
}

// isProjection states whether a node is a product with parameters and nothing else.
func (at *node) isProjection() bool {
	if at == nil || !at.isLinear() || at.isOutput || at.activation() != "none" || !at.input(linearResidual).isAbsent() {
		return false
	}
	bias := at.input(linearBias)
	return at.input(linearX).parameter == nil && at.input(linearW).parameter != nil && (bias.isAbsent() || bias.parameter != nil)
}

// isSimilar states whether two products can be joined: they have the same input and the same types, and
// their elements come from the weights in both, or in neither.
func isSimilar(a, b *node) bool {
	if a.layer.Type != b.layer.Type || a.input(linearX) != b.input(linearX) || a.input(linearBias).isAbsent() != b.input(linearBias).isAbsent() {
		return false
	}
	for input := linearW; input <= linearBias; input++ {
		p, other := a.input(input).parameter, b.input(input).parameter
		if p == nil {
			continue
		}
		if p.DType != other.DType || isStored(p) != isStored(other) || p.Trainable != other.Trainable {
			return false
		}
	}
	return true
}

// isStored states whether the weights have the elements of a parameter.
func isStored(p *ir.Parameter) bool {
	if len(p.Parts) > 0 {
		return p.Parts[0].Source != ""
	}
	return p.Source != ""
}

// parameters returns the parameters of the products: their matrices or their biases.
func (g *projections) parameters(input int) []*ir.Parameter {
	var list []*ir.Parameter
	for _, product := range g.products {
		if p := product.input(input).parameter; p != nil {
			list = append(list, p)
		}
	}
	return list
}

// key is the same for groups with the same parameters in the same order.
func (g *projections) key() string {
	key := ""
	for _, p := range slices.Concat(g.parameters(linearW), g.parameters(linearBias)) {
		key += fmt.Sprintf("%q", p.Name)
	}
	return key
}

// shared returns a parameter that something besides the groups with the same parameters reads, or nil. A
// copy of it would need memory.
func (f *projectionFinder) shared(g *projections, groups int) *ir.Parameter {
	for _, p := range slices.Concat(g.parameters(linearW), g.parameters(linearBias)) {
		if f.users[p] != groups || f.tied[p.Source] > 1 || p.IsConstant() {
			return p
		}
	}
	return nil
}

// mergeParameters adds the joined parameters of a group.
func (n *network) mergeParameters(g *projections) *mergedParameters {
	made := &mergedParameters{matrix: n.mergeList(g.attention.ID+".qkv.weight", g.parameters(linearW))}
	if biases := g.parameters(linearBias); len(biases) > 0 {
		made.bias = n.mergeList(g.attention.ID+".qkv.bias", biases)
	}
	return made
}

// mergeList adds a parameter with the elements of others, one after another along the first dimension.
func (n *network) mergeList(name string, list []*ir.Parameter) *ir.Parameter {
	first := list[0]
	made := ir.Parameter{
		Name: name, DType: first.DType, Trainable: first.Trainable, Shape: slices.Clone(first.Shape),
	}
	made.Shape[0] = 0
	for _, p := range list {
		made.Shape[0] += p.Shape[0]
		if len(p.Parts) > 0 {
			made.Parts = append(made.Parts, p.Parts...)
		} else {
			made.Parts = append(made.Parts, *p)
		}
	}
	return n.addParameter(made, first)
}

// merge replaces the products of a group by one.
func (n *network) merge(g *projections, p *mergedParameters) {
	first, attention := g.products[0], g.attention
	in := []source{first.input(linearX), {parameter: p.matrix}}
	if p.bias != nil {
		in = append(in, source{parameter: p.bias})
	}
	out := first.layer.Outputs[0]
	out.Shape = slices.Clone(out.Shape)
	out.Shape[len(out.Shape)-1] = p.matrix.Shape[0]
	layer := n.newLayer(first.layer, first.layer.Type, first.layer.Config, in, []ir.Tensor{out})
	n.replaced[layer] = attention.layer.Name + ".qkv"
	product := n.add(attention, attention.ID+".qkv", layer, in)
	if n.mergeAttention(g, product) {
		return
	}
	sizes := []int64{}
	outputs := []ir.Tensor{}
	for _, old := range g.products {
		sizes = append(sizes, old.input(linearW).parameter.Shape[0])
		outputs = append(outputs, old.layer.Outputs[0])
	}
	read := []source{product.first(), {parameter: n.constant(attention.ID+".qkv.sizes", sizes)}}
	split := n.newLayer(attention.layer, "Split", with(nil, "axis", -1), read, outputs)
	n.replaced[split] = attention.layer.Name + ".split"
	parts := n.add(attention, attention.ID+".split", split, read)
	for output, old := range g.products {
		n.replace(old.first(), source{from: parts, output: output})
	}
}

// constant returns a constant with some elements: one that the pass added before, or a new one.
func (n *network) constant(name string, elements []int64) *ir.Parameter {
	for _, p := range n.parameters {
		if n.isNew[p] && p.IsConstant() && slices.Equal(p.Value, elements) {
			return p
		}
	}
	return n.addParameter(ir.Parameter{
		Name: name, Shape: []int64{int64(len(elements))}, DType: dtype.I64, Value: elements,
	}, nil)
}

// mergeAttention lets a plain attention read the joined product without a Split. It returns false for
// another attention.
func (n *network) mergeAttention(g *projections, product *node) bool {
	at := g.attention
	if !g.isWhole || !isPlainAttention(at) || slices.ContainsFunc(g.products, func(p *node) bool { return !p.hasOneUser() }) {
		return false
	}
	heads, keyHeads := at.operator.Int("q_num_heads"), at.operator.Int("kv_num_heads")
	rows := g.parameters(linearW)
	if rows[0].Shape[0]/heads != rows[1].Shape[0]/keyHeads || rows[1].Shape[0] != rows[2].Shape[0] {
		return false
	}
	config := with(with(nil, "num_heads", heads), "kv_num_heads", keyHeads)
	for _, name := range []string{"is_causal", "scale"} {
		if raw, isGiven := at.layer.Config[name]; isGiven {
			config[name] = raw
		}
	}
	in := []source{product.first(), at.input(3)}
	n.rewrite(at, n.newLayer(at.layer, "ferrum.self_attention", config, in, at.layer.Outputs), in)
	return true
}

// isPlainAttention states whether an attention has three packed inputs, at most a mask, one output, and
// no attribute that self_attention lacks.
func isPlainAttention(at *node) bool {
	for input := 4; input < len(at.in); input++ {
		if !at.input(input).isAbsent() {
			return false
		}
	}
	for name := range at.layer.Config {
		switch name {
		case "q_num_heads", "kv_num_heads", "is_causal", "scale":
		case "softcap":
			if at.operator.Float(name) != 0 {
				return false
			}
		default:
			return false
		}
	}
	return len(at.layer.Outputs) == 1 && len(at.input(0).tensor().Shape) == 3
}
