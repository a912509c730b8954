//go:build cgo && (amd64 || arm64) && linux

package operations

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/operator/reference"
)

// generator draws calls: shapes by rapid, which makes failures small, and elements by a random
// generator.
type generator struct {
	*rapid.T
	elements *rand.Rand
	special  bool // NaN and infinities are among the elements
}

func (g *generator) from(low, high int) uint64 {
	return uint64(rapid.IntRange(low, high).Draw(g.T, "number"))
}

func (g *generator) size() uint64 {
	return rapid.SampledFrom([]uint64{0, 1, 1, 2, 3, 4, 5, 7, 17}).Draw(g.T, "size")
}

func (g *generator) sizes(low, high int) []uint64 {
	shape := make([]uint64, g.from(low, high))
	for i := range shape {
		shape[i] = g.size()
	}
	return shape
}

func (g *generator) flip() bool { return rapid.Bool().Draw(g.T, "choice") }

// kindOf draws one of some types.
func (g *generator) kindOf(types operator.Types) dtype.DType {
	return rapid.SampledFrom(types.List()).Draw(g.T, "type")
}

// value returns an element as a float.
func (g *generator) value() float64 {
	if g.special && g.elements.IntN(12) == 0 {
		return []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), -1e-30}[g.elements.IntN(6)]
	}
	return math.Round(g.elements.Float64()*4096-2048) / 1024
}

// tensor returns a tensor of random elements that the type has.
func (g *generator) tensor(kind dtype.DType, shape ...uint64) *argument {
	if kind >= dtype.GGUFBase {
		return g.blocks(kind, shape)
	}
	made := reference.New(kind, slices.Clone(shape))
	for i := range made.Floats {
		made.Floats[i] = g.value()
	}
	for i := range made.Ints {
		made.Ints[i] = int64(g.elements.IntN(19)) - 9
		if g.elements.IntN(10) == 0 {
			made.Ints[i] = int64(g.elements.Uint64())
		}
	}
	data := must(made.Bytes())
	if kind == dtype.Bool {
		for i := range data {
			data[i] &= 1
		}
	}
	return &argument{Tensor: must(reference.FromBytes(kind, made.Shape, data))}
}

func (g *generator) blocks(kind dtype.DType, shape []uint64) *argument {
	each, bytes := kind.Block()
	count := uint64(1)
	for _, n := range shape {
		count *= n
	}
	raw := make([]byte, count/each*bytes)
	for i := range raw {
		raw[i] = byte(g.elements.Uint64())
		if uint64(i)%bytes == 1 {
			raw[i] = 0x20 | raw[i]&0x83 // a scale of about 0.01
		}
	}
	return &argument{must(reference.FromBytes(kind, slices.Clone(shape), raw)), raw}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// list returns an I64 tensor with one dimension.
func list(values ...int64) *argument {
	made := reference.New(dtype.I64, []uint64{uint64(len(values))})
	copy(made.Ints, values)
	return &argument{Tensor: made}
}

// below returns a tensor of integers from low to high.
func (g *generator) between(kind dtype.DType, low, high int64, shape ...uint64) *argument {
	made := reference.New(kind, slices.Clone(shape))
	for i := range made.Ints {
		made.Ints[i] = low + g.elements.Int64N(max(1, high-low+1))
	}
	return &argument{Tensor: made}
}

type attributes map[string]any

// drawn is a call before its operator is prepared.
type drawn struct {
	attributes attributes
	inputs     []*argument
	outputs    int  // how many may be wanted
	hasLengths bool // Attention then has no present
}

// narrowed returns a shape that broadcasts to another: some dimensions are 1 or missing.
func (g *generator) narrowed(shape []uint64) []uint64 {
	made := slices.Clone(shape[g.from(0, len(shape)):])
	for i := range made {
		if g.flip() {
			made[i] = 1
		}
	}
	return made
}

// draw returns a call of an operator.
func (g *generator) draw(s *operator.Schema) call {
	d := g.inputs(s)
	text := must(json.Marshal(d.attributes))
	if d.attributes == nil {
		text = nil
	}
	c := call{op: must(s.Prepare(text)), inputs: d.inputs}
	if d.outputs > 1 {
		c.wanted = make([]bool, d.outputs)
		for i := range c.wanted {
			c.wanted[i] = rapid.IntRange(0, 3).Draw(g.T, "wanted") > 0
		}
		if d.hasLengths {
			c.wanted[presentKey], c.wanted[presentValue] = false, false
		}
		if !slices.Contains(c.wanted, true) {
			c.wanted[0] = true
		}
	}
	return c
}

func (g *generator) inputs(s *operator.Schema) drawn {
	kind := g.kindOf(s.Inputs[0].Types)
	switch s.Name {
	case "Add", "Sub", "Mul", "Div", "Pow":
		shape := g.sizes(0, 4)
		other := kind
		if s.Name == "Pow" {
			other = g.kindOf(s.Inputs[1].Types)
		}
		base := g.tensor(kind, shape...)
		if s.Name == "Pow" && !kind.IsFloat() {
			base = g.between(kind, -9, 9, shape...) // others round to different integers
		}
		exponent := g.tensor(other, g.narrowed(shape)...)
		if s.Name == "Pow" && kind.IsFloat() && !other.IsFloat() {
			exponent = g.between(other, 0, 9, exponent.Shape...)
		}
		return drawn{inputs: []*argument{base, exponent}}
	case "silu_mul":
		shape := g.sizes(0, 4)
		return drawn{inputs: []*argument{g.tensor(kind, shape...), g.tensor(kind, shape...)}}
	case "Gelu":
		return drawn{attributes: attributes{"approximate": rapid.SampledFrom([]string{"none", "tanh"}).Draw(g.T, "form")}, inputs: []*argument{g.tensor(kind, g.sizes(0, 4)...)}}
	case "Cast":
		to := g.kindOf(s.Inputs[0].Types)
		return drawn{attributes: attributes{"to": to.String(), "saturate": g.from(0, 1), "round_mode": rapid.SampledFrom([]string{"up", "down", "nearest"}).Draw(g.T, "rounding")},
			inputs: []*argument{g.tensor(kind, g.sizes(0, 4)...)}}
	case "Where":
		shape, of := g.sizes(0, 4), g.kindOf(s.Inputs[1].Types)
		return drawn{inputs: []*argument{g.tensor(dtype.Bool, g.narrowed(shape)...), g.tensor(of, shape...), g.tensor(of, g.narrowed(shape)...)}}
	case "Softmax":
		shape := g.sizes(1, 4)
		return drawn{attributes: attributes{"axis": g.from(0, len(shape)-1)}, inputs: []*argument{g.tensor(kind, shape...)}}
	case "ReduceSum", "ReduceMean", "ReduceMax":
		shape := g.sizes(0, 4)
		var axes []int64
		for axis := range shape {
			if g.flip() {
				axes = append(axes, int64(axis))
			}
		}
		d := drawn{attributes: attributes{"keepdims": g.from(0, 1), "noop_with_empty_axes": g.from(0, 1)}, inputs: []*argument{g.tensor(kind, shape...)}}
		if g.flip() {
			d.inputs = append(d.inputs, list(axes...))
		}
		return d
	case "ArgMax":
		shape := g.sizes(1, 4)
		axis := g.from(0, len(shape)-1)
		shape[axis] = max(1, shape[axis])
		return drawn{attributes: attributes{"axis": axis, "keepdims": g.from(0, 1), "select_last_index": g.from(0, 1)}, inputs: []*argument{g.tensor(kind, shape...)}}
	case "TopK":
		shape := g.sizes(1, 4)
		axis := g.from(0, len(shape)-1)
		shape[axis] = rapid.SampledFrom([]uint64{0, 1, 5, 40, 600}).Draw(g.T, "line")
		k := int64(g.from(0, int(shape[axis])))
		return drawn{attributes: attributes{"axis": axis, "largest": g.from(0, 1)}, inputs: []*argument{g.tensor(kind, shape...), list(k)}, outputs: 2}
	case "MatMul", "Gemm", "linear", "quantized_linear":
		return g.products(s, kind)
	case "LayerNormalization", "RMSNormalization", "rms_norm_residual", "layer_norm_residual":
		return g.norms(s, kind)
	case "RotaryEmbedding":
		return g.rotation(kind)
	case "Attention":
		return g.attention(s, kind)
	case "paged_attention":
		return g.pagedAttention(s, kind)
	case "self_attention":
		return g.selfAttention(s, kind)
	case "Expand", "Reshape", "Concat", "Split", "Slice", "Squeeze", "Unsqueeze", "Transpose", "Gather":
		return g.movement(s, kind)
	}
	return drawn{inputs: []*argument{g.tensor(kind, g.sizes(0, 4)...)}}
}

func (g *generator) movement(s *operator.Schema, kind dtype.DType) drawn {
	shape := g.sizes(1, 4)
	axis := int(g.from(0, len(shape)-1))
	switch s.Name {
	case "Expand":
		var target []int64
		for _, n := range shape {
			target = append(target, int64(n))
		}
		from := g.narrowed(shape)
		for i, n := range from {
			if n == shape[len(shape)-len(from)+i] && g.flip() {
				target[len(shape)-len(from)+i] = 1 // the dimension stays
			}
		}
		return drawn{inputs: []*argument{g.tensor(kind, from...), list(target...)}}
	case "Reshape":
		target := []int64{-1}
		if slices.Contains(shape, 0) {
			target = []int64{0}
			shape[0] = 0
		} else if g.flip() {
			target = []int64{int64(shape[0]), 1, -1}
		}
		return drawn{inputs: []*argument{g.tensor(kind, shape...), list(target...)}}
	case "Concat":
		d := drawn{attributes: attributes{"axis": axis}}
		for range g.from(1, 4) {
			shape[axis] = g.size()
			d.inputs = append(d.inputs, g.tensor(kind, shape...))
		}
		return d
	case "Split":
		first := int64(g.from(0, int(shape[axis])))
		return drawn{attributes: attributes{"axis": axis}, inputs: []*argument{g.tensor(kind, shape...), list(first, int64(shape[axis])-first)}, outputs: 2}
	case "Slice":
		step := rapid.SampledFrom([]int64{1, 2, -1, -3}).Draw(g.T, "step")
		start, end := int64(g.from(-9, 9)), int64(g.from(-9, 20))
		return drawn{inputs: []*argument{g.tensor(kind, shape...), list(start), list(end), list(int64(axis)), list(step)}}
	case "Squeeze":
		shape[axis] = 1
		return drawn{inputs: []*argument{g.tensor(kind, shape...), list(int64(axis))}}
	case "Unsqueeze":
		return drawn{inputs: []*argument{g.tensor(kind, shape...), list(int64(axis))}}
	case "Transpose":
		order := make([]int, len(shape))
		for i := range order {
			order[i] = i
		}
		return drawn{attributes: attributes{"perm": rapid.Permutation(order).Draw(g.T, "perm")}, inputs: []*argument{g.tensor(kind, shape...)}}
	}
	shape[axis] = max(1, shape[axis])
	indices := g.sizes(0, 2)
	of := g.kindOf(s.Inputs[1].Types)
	n := int64(shape[axis])
	return drawn{attributes: attributes{"axis": axis}, inputs: []*argument{g.tensor(kind, shape...), g.between(of, -n, n-1, indices...)}}
}

func (g *generator) products(s *operator.Schema, kind dtype.DType) drawn {
	m, n, k := g.size(), g.size(), g.size()
	lead := g.sizes(0, 2)
	switch s.Name {
	case "Gemm":
		a, b := []uint64{m, k}, []uint64{k, n}
		d := drawn{attributes: attributes{"alpha": g.from(-2, 2), "beta": g.from(-1, 1), "transA": g.from(0, 1), "transB": g.from(0, 1)}}
		if d.attributes["transA"] == uint64(1) {
			slices.Reverse(a)
		}
		if d.attributes["transB"] == uint64(1) {
			slices.Reverse(b)
		}
		d.attributes["alpha"] = float64(g.from(0, 8))/4 - 1
		d.attributes["beta"] = float64(g.from(0, 8))/4 - 1
		d.inputs = []*argument{g.tensor(kind, a...), g.tensor(kind, b...)}
		if g.flip() {
			d.inputs = append(d.inputs, g.tensor(kind, g.narrowed([]uint64{m, n})...))
		}
		return d
	case "MatMul":
		a, b := append(g.narrowed(lead), m, k), append(slices.Clone(lead), k, n)
		if g.from(0, 5) == 0 {
			a = []uint64{k}
		}
		if g.from(0, 5) == 0 {
			b = []uint64{k}
		}
		return drawn{inputs: []*argument{g.tensor(kind, a...), g.tensor(kind, b...)}}
	}
	of := kind
	if s.Name == "quantized_linear" {
		of, k = g.kindOf(s.Inputs[1].Types), 32*g.from(0, 3)
	}
	activation := rapid.SampledFrom([]string{"none", "none", "relu", "gelu", "gelu_tanh", "silu"}).Draw(g.T, "activation")
	d := drawn{
		attributes: attributes{"activation": activation},
		inputs:     []*argument{g.tensor(kind, append(slices.Clone(lead), k)...), g.tensor(of, n, k), nil},
	}
	if g.flip() {
		d.inputs[2] = g.tensor(kind, n)
	}
	if g.flip() {
		d.inputs = append(d.inputs, g.tensor(kind, append(slices.Clone(lead), n)...))
	}
	return d
}

// finite returns a tensor without special values, for a scale or a bias: a distance from the mean can be
// 0 in F32 and not 0 in F64. Infinity times 0 is NaN, and infinity times another number is not.
func (g *generator) finite(kind dtype.DType, shape ...uint64) *argument {
	isSpecial := g.special
	defer func() { g.special = isSpecial }()
	g.special = false
	return g.tensor(kind, shape...)
}

func (g *generator) norms(s *operator.Schema, kind dtype.DType) drawn {
	shape := g.sizes(1, 4)
	axis := g.from(0, len(shape)-1)
	if s.Domain == operator.Ferrum {
		d := drawn{inputs: []*argument{g.tensor(kind, shape...), g.tensor(kind, shape...), g.finite(kind, shape[len(shape)-1])}, outputs: 2}
		if s.Name == "layer_norm_residual" {
			d.attributes = attributes{"epsilon": 0.125}
			if g.flip() {
				d.inputs = append(d.inputs, g.finite(kind, shape[len(shape)-1]))
			}
		}
		return d
	}
	stash := rapid.SampledFrom([]string{"f32", "bf16"}).Draw(g.T, "stash")
	d := drawn{attributes: attributes{"axis": axis, "stash_type": stash, "epsilon": 0.125}}
	scale := func(of dtype.DType) *argument {
		if g.flip() {
			return g.finite(of, shape[axis:]...)
		}
		return g.finite(of, g.narrowed(shape)...)
	}
	of := kind
	if s.Name == "RMSNormalization" {
		of = g.kindOf(s.Inputs[1].Types)
	}
	d.inputs = []*argument{g.tensor(kind, shape...), scale(of)}
	if s.Name == "LayerNormalization" {
		d.outputs = 3
		if g.flip() {
			d.inputs = append(d.inputs, scale(of))
		}
	}
	return d
}
