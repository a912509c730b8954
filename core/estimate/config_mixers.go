package estimate

import "fmt"

// maxWidth bounds the numbers of mixers, so that the product of two of them needs no
// overflow check.
const maxWidth = 1 << 24

// stateSpace has the numbers of a mixer with a state space, independent of the family's
// names.
type stateSpace struct {
	// heads of dim elements each share groups of states, each of width state.
	heads, dim, groups, state uint64
	// kernel is the number of inputs of the convolution.
	kernel   uint64
	convBias bool
	// inBias and outBias belong to the input and output matrices.
	inBias, outBias bool
	// norm is a norm over the output, innerNorms are norms over the inputs of a state.
	norm, innerNorms bool
	// rank is the width of the vector from which steps are computed.
	rank uint64
}

// mamba returns a mixer of the first kind: each channel has its own step, computed from
// a vector of rank elements.
func (r reader) mamba(hidden uint64, n stateSpace) Mixer {
	inner := n.dim
	var c calculation
	made := c.sum(n.rank, c.product(2, n.state))
	x := Mixer{
		Kind: "mamba",
		Matrices: []Matrix{
			{Span{whole(hidden)}, Span{{inner, 2}}},
			{Span{cut(inner)}, Span{whole(made)}},
			{Span{whole(n.rank)}, Span{cut(inner)}},
			{Span{cut(inner)}, Span{whole(hidden)}},
		},
		// The convolution, the bias of the steps, the decay of the states and the skip.
		Vectors:     Span{{inner, c.sum(n.kernel, 1, n.state, 1)}},
		Convolution: Span{{inner, n.kernel}},
		State:       Span{{inner, n.state}},
		Inner:       Span{{inner, 4}, whole(made), whole(hidden)},
	}
	if n.convBias {
		x.Vectors = append(x.Vectors, cut(inner))
	}
	if n.inBias {
		x.Vectors = append(x.Vectors, Part{inner, 2})
	}
	if n.outBias {
		x.Vectors = append(x.Vectors, whole(hidden))
	}
	if n.innerNorms {
		x.Vectors = append(x.Vectors, whole(made))
	}
	return x
}

// mamba2 returns a mixer of the second kind: each head has one step.
func (r reader) mamba2(hidden uint64, n stateSpace) Mixer {
	inner := Part{n.heads, n.dim}
	groups := Part{n.groups, 2 * n.state}
	convolved := Span{inner, groups}
	projected := Span{inner, inner, groups, cut(n.heads)}
	var c calculation
	x := Mixer{
		Kind: "mamba", Heads: n.heads,
		Matrices: []Matrix{{Span{whole(hidden)}, projected}, {Span{inner}, Span{whole(hidden)}}},
		// The convolution, and for each head the bias of its step, its decay and its
		// skip.
		Vectors:     append(convolved.times(&c, n.kernel), Part{n.heads, 3}),
		Convolution: convolved.times(&c, n.kernel),
		State:       Span{{n.heads, c.product(n.dim, n.state)}},
		Inner:       append(append(Span{inner, whole(hidden)}, projected...), convolved...),
	}
	if n.convBias {
		x.Vectors = append(x.Vectors, convolved...)
	}
	if n.inBias {
		x.Vectors = append(x.Vectors, projected...)
	}
	if n.outBias {
		x.Vectors = append(x.Vectors, whole(hidden))
	}
	if n.norm {
		x.Vectors = append(x.Vectors, inner)
	}
	return x
}

// stateNames has a family's names for the fields of a state space; "" for a field that
// it does not have.
type stateNames struct {
	heads, dim, groups, state, kernel, expand, convBias, projBias string
}

var (
	bareNames  = stateNames{"num_heads", "head_dim", "n_groups", "state_size", "conv_kernel", "expand", "use_conv_bias", "use_bias"}
	mambaNames = stateNames{
		"mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state", "mamba_d_conv", "mamba_expand", "mamba_conv_bias", "mamba_proj_bias",
	}
	nemotronNames = stateNames{"mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size", "conv_kernel", "", "use_conv_bias", "use_bias"}
	zambaNames    = stateNames{
		"n_mamba_heads", "mamba_headdim", "mamba_ngroups", "mamba_d_state", "mamba_d_conv", "mamba_expand", "use_conv_bias", "add_bias_linear",
	}
)

// stateSpace reads the fields of a state space with heads. inner is the width of all
// heads together; 0: the expansion of the hidden size.
func (r reader) stateSpace(names stateNames, hidden, inner uint64) (n stateSpace, err error) {
	n.norm = true
	err = r.widths([]place{{names.heads, &n.heads}, {names.groups, &n.groups}, {names.state, &n.state}, {names.kernel, &n.kernel}})
	if err != nil {
		return n, err
	}
	if n.convBias, err = r.flagOr(names.convBias, true); err != nil {
		return n, err
	}
	if n.inBias, err = r.flagOr(names.projBias, false); err != nil {
		return n, err
	}
	n.outBias = n.inBias
	if inner == 0 && names.expand != "" {
		if inner, err = r.expanded(names.expand, hidden); err != nil {
			return n, err
		}
	}
	if r.has(names.dim) && r.fields[names.dim] != "auto" || inner == 0 {
		if err = r.widths([]place{{names.dim, &n.dim}}); err != nil {
			return n, err
		}
		var c calculation
		if all := c.product(n.heads, n.dim); inner > 0 && all != inner {
			return n, r.wrong(names.heads, "%d heads of %d are %d, not the inner width of %d", n.heads, n.dim, all, inner)
		}
	} else {
		if inner%n.heads != 0 {
			return n, r.wrong(names.heads, "%d does not divide the inner width of %d", n.heads, inner)
		}
		n.dim = inner / n.heads
	}
	if n.dim > maxWidth {
		return n, r.wrong(names.heads, "%d heads of %d are wider than %d each", n.heads, n.dim, maxWidth)
	}
	if n.heads%n.groups != 0 {
		return n, r.wrong(names.groups, "%d does not divide the %d heads", n.groups, n.heads)
	}
	return n, nil
}

// widths calls into for the numbers of a mixer.
func (r reader) widths(places []place) error {
	if err := r.into(places); err != nil {
		return err
	}
	for _, p := range places {
		if *p.value > maxWidth {
			return r.wrong(r.name(p.field), "is %d, not within 1 to %d", *p.value, maxWidth)
		}
	}
	return nil
}

// expanded returns the hidden size times a field.
func (r reader) expanded(field string, hidden uint64) (uint64, error) {
	times, err := r.get(field)
	if err != nil {
		return 0, err
	}
	var c calculation
	width := c.product(times, hidden)
	if c.overflowed || width > maxNumber {
		return 0, r.wrong(field, "is %d, too much for a hidden size of %d", times, hidden)
	}
	return width, nil
}

// rank reads the width of the vector for the steps. "auto" means a sixteenth of the
// hidden size.
func (r reader) rank(field string, hidden uint64) (uint64, error) {
	if !r.has(field) || r.fields[field] == "auto" {
		return ceilDiv(hidden, 16), nil
	}
	return r.number(field, 1)
}

// kinds reads the kinds of the layers from the list in a field; nil if the list is null
// or missing.
func (r reader) kinds(list string, layers uint64) ([]layerKind, error) {
	values, err := r.listOr(list)
	if err != nil || values == nil {
		return nil, err
	}
	if uint64(len(values)) != layers {
		return nil, r.wrong(list, "has %d entries for %d layers", len(values), layers)
	}
	kinds := make([]layerKind, layers)
	for i, value := range values {
		name, _ := value.(string)
		kind, ok := kindNamed(name)
		if !ok {
			return nil, r.wrong(fmt.Sprintf("%s[%d]", list, i), "is %s, not a kind of layer that this family has", kindOf(value))
		}
		kinds[i] = kind
	}
	return kinds, nil
}

// layerKind is the kind of a layer of a hybrid model.
type layerKind int

const (
	attentionLayer layerKind = iota
	mixerLayer
	mlpLayer
	expertLayer
)

// kindNamed returns the kind for a name in a list of layers.
func kindNamed(name string) (layerKind, bool) {
	switch name {
	case "attention", "full_attention", "hybrid":
		return attentionLayer, true
	case "mamba", "linear_attention", "conv", "recurrent":
		return mixerLayer, true
	case "mlp":
		return mlpLayer, true
	case "moe":
		return expertLayer, true
	}
	return 0, false
}

// kindOfLetter returns the kind for a letter of hybrid_override_pattern.
func kindOfLetter(letter rune) (layerKind, bool) {
	switch letter {
	case '*':
		return attentionLayer, true
	case 'M':
		return mixerLayer, true
	case '-':
		return mlpLayer, true
	case 'E':
		return expertLayer, true
	}
	return 0, false
}

// letters parses a pattern with one letter for each layer.
func (r reader) letters(field string, layers uint64) ([]layerKind, error) {
	text, err := r.textOr(field, "")
	if err != nil || text == "" {
		return nil, err
	}
	if uint64(len(text)) != layers {
		return nil, r.wrong(field, "has %d letters for %d layers", len(text), layers)
	}
	kinds := make([]layerKind, 0, layers)
	for i, letter := range text {
		kind, ok := kindOfLetter(letter)
		if !ok {
			return nil, r.wrong(field, "letter %d is %s, not one of M, *, - and E", i, quote(string(letter)))
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// numbered returns the kinds for a list with the numbers of the layers with attention.
func (r reader) numbered(list string, layers uint64) ([]layerKind, error) {
	values, err := r.listOr(list)
	if err != nil {
		return nil, err
	}
	kinds := allOf(mixerLayer, layers)
	for i, value := range values {
		n, err := r.whole(fmt.Sprintf("%s[%d]", list, i), value, 0)
		if err != nil {
			return nil, err
		}
		if n < layers {
			kinds[n] = attentionLayer
		}
	}
	return kinds, nil
}

func allOf(kind layerKind, layers uint64) []layerKind {
	kinds := make([]layerKind, layers)
	for i := range kinds {
		kinds[i] = kind
	}
	return kinds
}

// every returns kinds in which each n-th layer has attention, the first at index
// offset.
func every(n, offset, layers uint64) []layerKind {
	kinds := allOf(mixerLayer, layers)
	for i := range layers {
		if i%n == offset {
			kinds[i] = attentionLayer
		}
	}
	return kinds
}

func countOf(kinds []layerKind, kind layerKind) (n uint64) {
	for _, k := range kinds {
		if k == kind {
			n++
		}
	}
	return n
}

// mix sets a model's layers of two kinds: those with attention, and those with the
// mixer instead.
func (m *Model) mix(kinds []layerKind, x Mixer) {
	m.AttentionLayers = countOf(kinds, attentionLayer)
	if x.Layers = countOf(kinds, mixerLayer); x.Layers > 0 {
		m.Mixers = append(m.Mixers, x)
	}
}
