package irtest

import (
	"fmt"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
)

// Draw makes a random model. pick returns a number from 0 to n-1; a test draws it, or takes it from the
// bytes of a fuzzer. The model has what passes must notice: nodes that compute the same, operations that
// change nothing, layers with several nodes, parameters with several uses, outputs that are read too,
// and parts without a use.
func Draw(t T, pick func(n int) int) *ir.Model {
	t.Helper()
	d := &drawing{Builder: New(t), pick: pick}
	ids := d.Input("ids", dtype.I64, "batch", "sequence")
	d.positions = ids
	d.keep(d.Input("x", dtype.F32, "batch", "sequence", 8))
	d.keep(d.Input("memory", dtype.F32, "batch", "memory", 8))
	for range 2 + pick(14) {
		d.step(ids)
	}
	outputs := map[string]bool{}
	for range 1 + pick(3) {
		v := d.any()
		if v.output == 0 && !outputs[v.node] {
			outputs[v.node] = true
			d.Output(v)
		}
	}
	if len(outputs) == 0 {
		d.Output(d.Node("", "Relu", "", d.any()))
	}
	return d.Model()
}

// drawing is a model in the making.
type drawing struct {
	*Builder
	pick func(n int) int
	// values have the type F32 and three dimensions; the last one is fixed.
	values    []Value
	positions Value
	mask      Value
	matrices  []Value
	calls     []call
	names     int
}

// call is a node that may be repeated.
type call struct {
	value        Value
	full, config string
	inputs       []Value
}

func (d *drawing) keep(v Value) { d.values = append(d.values, v) }

func (d *drawing) any() Value { return d.values[d.pick(len(d.values))] }

// alike returns a value with the shape of another one, which may be that one.
func (d *drawing) alike(v Value) Value {
	var found []Value
	for _, other := range d.values {
		if haveOneShape(v, other) {
			found = append(found, other)
		}
	}
	return found[d.pick(len(found))]
}

func haveOneShape(a, b Value) bool {
	for choice := range a.at {
		if a.at[choice].String() != b.at[choice].String() {
			return false
		}
	}
	return true
}

func (d *drawing) name(kind string) string {
	d.names++
	return fmt.Sprintf("%s %d", kind, d.names)
}

// width is the number of elements of the last dimension.
func width(v Value) int64 { return v.Shape()[len(v.Shape())-1] }

// op adds a node that may be repeated.
func (d *drawing) op(full, config string, inputs ...Value) Value {
	made := d.Node("", full, config, inputs...)
	d.calls = append(d.calls, call{made, full, config, inputs})
	return made
}

// step adds one node or a few.
func (d *drawing) step(ids Value) {
	x := d.any()
	switch d.pick(19) {
	case 0, 1:
		d.keep(d.linear(x, 8*int64(1+d.pick(2))))
	case 2:
		d.keep(d.activation(d.linear(x, 8)))
	case 3:
		d.keep(d.activation(x))
	case 4:
		d.keep(d.op("Add", "", x, d.alike(x)))
	case 5:
		d.neutral(x)
	case 6, 7:
		d.keep(d.norm(d.op("Add", "", x, d.alike(x))))
	case 8, 9:
		d.attention(x)
	case 10:
		d.transposed(x)
	case 11:
		d.reshaped(x)
	case 12:
		d.masked(ids)
	case 13:
		axes := d.Constant(d.name("axes"), int64(d.pick(3)))
		d.keep(d.op("Squeeze", "", d.op("Unsqueeze", "", x, axes), axes))
	case 14:
		d.keep(d.op("Mul", "", d.op("Swish", d.choice(`{"alpha":1}`, `{"alpha":2}`, ""), x), d.alike(x)))
	case 15:
		d.halves(x)
	case 16:
		d.again()
	case 17:
		y := d.linear(x, width(x))
		if haveOneShape(x, y) {
			y = d.op("Add", "", y, d.alike(x))
		}
		d.keep(y)
	case 18:
		d.keep(d.op("Cast", `{"to":"f32"}`, x))
	}
}

func (d *drawing) choice(texts ...string) string { return texts[d.pick(len(texts))] }

func (d *drawing) linear(x Value, rows int64) Value {
	var w Value
	for _, known := range d.matrices {
		if known.Shape()[1] == width(x) && d.pick(4) == 0 {
			w = known
		}
	}
	if w.isAbsent() {
		w = d.Parameter(d.name("matrix"), rows, width(x))
		d.matrices = append(d.matrices, w)
	}
	if d.pick(2) == 0 {
		return d.op("ferrum.linear", "", x, w)
	}
	bias := d.Parameter(d.name("bias"), w.Shape()[0])
	if d.pick(4) == 0 {
		return d.op("Add", "", d.op("ferrum.linear", "", x, w), bias)
	}
	return d.op("ferrum.linear", "", x, w, bias)
}

func (d *drawing) activation(x Value) Value {
	switch d.pick(5) {
	case 0:
		return d.op("Gelu", `{"approximate":"tanh"}`, x)
	case 1:
		return d.op("Relu", "", x)
	case 2:
		return d.op("Swish", d.choice(`{"alpha":1}`, `{"alpha":2}`, ""), x)
	case 3:
		return d.op("Tanh", "", x)
	}
	return d.op("Gelu", "", x)
}

// neutral adds an operation with zeros or ones. It changes nothing unless the elements may change.
func (d *drawing) neutral(x Value) {
	p := ir.Parameter{Name: d.name("neutral"), Shape: []int64{1}, Trainable: d.pick(3) == 0}
	if d.pick(2) == 0 {
		p.Shape = []int64{1, width(x)}
	}
	full := d.choice("Add", "Sub", "Mul", "Div")
	p.Initialization.Strategy = ir.StrategyZeros
	if full == "Mul" || full == "Div" {
		p.Initialization.Strategy = ir.StrategyOnes
	}
	v := d.Add(p)
	if (full == "Add" || full == "Mul") && d.pick(2) == 0 {
		d.keep(d.op(full, "", v, x))
		return
	}
	d.keep(d.op(full, "", x, v))
}

func (d *drawing) norm(x Value) Value {
	scale := d.Parameter(d.name("scale"), width(x))
	switch d.pick(4) {
	case 0:
		return d.op("RMSNormalization", `{"epsilon":0.001}`, x, scale)
	case 1:
		return d.op("LayerNormalization", `{"axis":2,"epsilon":0.01}`, x, scale)
	case 2:
		return d.op("LayerNormalization", `{"axis":1}`, x, scale)
	}
	return d.op("LayerNormalization", "", x, scale, d.Parameter(d.name("shift"), width(x)))
}

// attention adds an attention among the tokens of one tensor, or over another tensor.
func (d *drawing) attention(x Value) {
	over := x
	if d.pick(3) == 0 {
		over = d.any()
	}
	wide, narrow := int64(8), int64(4)
	heads := `{"q_num_heads":4,"kv_num_heads":2}`
	switch d.pick(4) {
	case 0:
		heads = `{"q_num_heads":4,"kv_num_heads":2,"is_causal":1,"scale":0.25}`
	case 1:
		heads, narrow = `{"q_num_heads":2,"kv_num_heads":2}`, 8
	}
	w := func(rows int64, of Value) Value { return d.Parameter(d.name("projection"), rows, width(of)) }
	project := func(of Value, rows int64) Value { return d.op("ferrum.linear", "", of, w(rows, of)) }
	if d.pick(2) == 0 {
		project = func(of Value, rows int64) Value {
			return d.op("ferrum.linear", "", of, w(rows, of), d.Parameter(d.name("bias"), rows))
		}
	}
	q, k, v := project(x, wide), project(over, narrow), project(over, narrow)
	if narrow == 8 && haveOneBatchAndTokens(x, d.positions) && d.pick(2) == 0 {
		cosines, sines := d.Parameter(d.name("cos"), 16, 2), d.Parameter(d.name("sin"), 16, 2)
		q = d.op("RotaryEmbedding", `{"num_heads":2}`, q, cosines, sines, d.positions)
	}
	if d.pick(4) == 0 {
		d.keep(q)
	}
	if over.at[0].Shape[0] != x.at[0].Shape[0] || over.at[1].Shape[0] != x.at[1].Shape[0] {
		return // another batch
	}
	if !d.mask.isAbsent() && haveOneBatchAndTokens(over, d.positions) {
		d.keep(d.op("Attention", heads, q, k, v, d.mask))
		return
	}
	d.keep(d.op("Attention", heads, q, k, v))
}

func haveOneBatchAndTokens(a, b Value) bool {
	for choice := range a.at {
		if a.at[choice].Shape[0] != b.at[choice].Shape[0] || a.at[choice].Shape[1] != b.at[choice].Shape[1] {
			return false
		}
	}
	return true
}

func (d *drawing) transposed(x Value) {
	pairs := [][2]string{
		{`{"perm":[1,0,2]}`, `{"perm":[1,0,2]}`}, {"", ""}, {`{"perm":[2,0,1]}`, `{"perm":[1,2,0]}`},
		{`{"perm":[0,1,2]}`, `{"perm":[0,1,2]}`}, {`{"perm":[1,0,2]}`, `{"perm":[0,1,2]}`},
	}
	pair := pairs[d.pick(len(pairs))]
	d.keep(d.op("Transpose", pair[1], d.op("Transpose", pair[0], x)))
}

func (d *drawing) reshaped(x Value) {
	to := func(v Value, sizes ...int64) Value {
		return d.op("Reshape", "", v, d.Constant(d.name("shape"), sizes...))
	}
	switch half := width(x) / 2; d.pick(4) {
	case 0:
		d.keep(to(to(x, 0, 0, 2, half), 0, 0, -1))
	case 1:
		d.keep(to(x, 0, -1, width(x)))
	case 2:
		d.keep(to(to(x, -1, half), -1, 1, width(x)))
	case 3:
		d.keep(to(to(to(x, 0, -1), -1, 2), -1, 1, width(x)))
	}
}

// masked replaces the mask that attentions read.
func (d *drawing) masked(ids Value) {
	if d.pick(2) == 0 {
		// Constants may be operands of integers, too.
		shift := d.op("Unsqueeze", "", d.Constant(d.name("shift"), int64(d.pick(2))), d.Constant(d.name("axes"), 0))
		ids = d.op("Add", "", ids, shift)
	}
	flags := d.op("Cast", `{"to":"bool"}`, ids)
	d.mask = d.op("Unsqueeze", "", flags, d.Constant(d.name("axes"), 1, 2))
}

// halves splits the last dimension and joins the halves, in some order.
func (d *drawing) halves(x Value) {
	half := width(x) / 2
	parts := d.op("Split", `{"axis":-1}`, x, d.Constant(d.name("sizes"), half, half))
	first, second := parts.Output(0), parts.Output(1)
	if d.pick(2) == 0 {
		first, second = second, first
	}
	d.keep(d.op("Concat", `{"axis":-1}`, first, second))
}

// again repeats a node, or uses its layer for another input with the same shape.
func (d *drawing) again() {
	if len(d.calls) == 0 {
		return
	}
	of := d.calls[d.pick(len(d.calls))]
	v := Value{}
	switch first := of.inputs[0]; {
	case d.pick(2) == 0:
		v = d.op(of.full, of.config, of.inputs...)
	case first.node != "" && first.Type() == dtype.F32 && len(first.Shape()) == 3 && isKept(d.values, first):
		v = d.Again(d.name("again"), of.value, d.alike(first))
	default:
		return
	}
	if v.Type() == dtype.F32 && len(v.Shape()) == 3 && width(v) >= 8 {
		d.keep(v)
	}
}

func isKept(values []Value, v Value) bool {
	for _, other := range values {
		if haveOneShape(v, other) {
			return true
		}
	}
	return false
}
