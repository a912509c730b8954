package onnx

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
)

// Operators of this library as nodes of ONNX. Those of the domain "ferrum" join several operators, which
// are written one after the other.

// step is a use of an operator. outputs has their names, "" for one that is not wanted.
type step struct {
	id       string
	operator *operator.Operator
	inputs   []operand
	outputs  []string
}

// matrixInput is the input of a product with its matrix.
const matrixInput = 1

// isProduct states whether input 1 of an operator is a matrix with a row for each output.
func isProduct(op *operator.Operator) bool {
	return op != nil && op.Domain == operator.Ferrum && op.Name == "linear"
}

// step adds the nodes of a step. Errors: CodeUnsupported for an operator without a form in ONNX.
func (b *builder) step(s step) error {
	if s.operator.Domain == operator.ONNX {
		switch {
		case s.operator.Name == "Attention":
			s.inputs = slices.Clone(s.inputs)
			b.growMask(s.id, s.inputs)
		case s.operator.Name == "Swish" && s.operator.Float("alpha") == 1:
			b.swish(s.id, s.outputs[0], s.inputs[0])
			return nil
		}
		n := Node{Name: s.id, Type: s.operator.Name, Outputs: s.outputs, Attributes: attributesOf(s.operator)}
		for len(n.Outputs) > 1 && n.Outputs[len(n.Outputs)-1] == "" {
			n.Outputs = n.Outputs[:len(n.Outputs)-1]
		}
		b.add(n, s.inputs)
		return nil
	}
	for len(s.inputs) < 4 {
		s.inputs = append(s.inputs, operand{})
	}
	switch s.operator.Name {
	case "linear":
		b.linear(s)
	case "silu_mul":
		gate := operand{name: b.unique(s.id + ".swish"), kind: s.inputs[0].kind}
		b.swish(s.id, gate.name, s.inputs[0])
		b.node("Mul", s.outputs[0], nil, gate, s.inputs[1])
	case "layer_norm_residual":
		b.residual(s, "LayerNormalization")
	case "rms_norm_residual":
		b.residual(s, "RMSNormalization")
	case "self_attention":
		return b.selfAttention(s)
	default:
		return device.Errorf(device.CodeUnsupported, opExport, "the node %.120q: %s has no form in ONNX", s.id, s.operator.FullName())
	}
	return nil
}

// swish adds x * Sigmoid(x), which every opset has, and which onnxruntime 1.32 computes.
func (b *builder) swish(id, output string, x operand) {
	sigmoid := operand{name: b.unique(id + ".sigmoid"), kind: x.kind}
	b.node("Sigmoid", sigmoid.name, nil, x)
	b.node("Mul", output, nil, x, sigmoid)
}

// linear adds activation(X * transposed W + bias) + residual: the nodes that there are of MatMul, Add, the
// activation and Add. The last one has the output of the step.
func (b *builder) linear(s step) {
	x, w, bias, residual := s.inputs[0], s.inputs[matrixInput], s.inputs[2], s.inputs[3]
	type part struct {
		kind, ending string
		attributes   []Attribute
		other        operand
	}
	if !w.isTransposed {
		name := b.unique(s.id + ".transposed")
		b.node("Transpose", name, []Attribute{{Name: "perm", Kind: Ints, Ints: []int64{1, 0}}}, w)
		w = operand{name: name, kind: w.kind}
	}
	parts := []part{{"MatMul", ".product", nil, w}}
	if bias.name != "" {
		parts = append(parts, part{"Add", ".sum", nil, bias})
	}
	switch s.operator.Text("activation") {
	case "relu":
		parts = append(parts, part{"Relu", ".activation", nil, operand{}})
	case "gelu":
		parts = append(parts, part{"Gelu", ".activation", nil, operand{}})
	case "gelu_tanh":
		parts = append(parts, part{"Gelu", ".activation", []Attribute{{Name: "approximate", Kind: Text, Text: "tanh"}}, operand{}})
	case "silu":
		parts = append(parts, part{"Swish", ".activation", nil, operand{}})
	}
	if residual.name != "" {
		parts = append(parts, part{"Add", ".residual", nil, residual})
	}
	for i, p := range parts {
		output := s.outputs[0]
		if i < len(parts)-1 {
			output = b.unique(s.id + p.ending)
		}
		if p.kind == "Swish" {
			b.swish(s.id, output, x)
		} else {
			b.node(p.kind, output, p.attributes, x, p.other)
		}
		x = operand{name: output, kind: x.kind}
	}
}

// residual adds the sum of the first two inputs, and its norm.
func (b *builder) residual(s step, norm string) {
	sum := ""
	if len(s.outputs) > 1 {
		sum = s.outputs[1]
	}
	if sum == "" {
		sum = b.unique(s.id + ".sum")
	}
	b.node("Add", sum, nil, s.inputs[0], s.inputs[1])
	if s.outputs[0] == "" {
		return
	}
	attributes := []Attribute{number("epsilon", s.operator.Float("epsilon"))}
	b.node(norm, s.outputs[0], attributes, operand{name: sum, kind: s.inputs[0].kind}, s.inputs[2], s.inputs[3])
}

// selfAttention splits queries, keys and values, and adds their attention.
func (b *builder) selfAttention(s step) error {
	qkv, op := s.inputs[0], s.operator
	heads, keys := op.Int("num_heads"), op.Int("num_heads")
	if op.Has("kv_num_heads") {
		keys = op.Int("kv_num_heads")
	}
	width := int64(ir.Dynamic)
	if len(qkv.shape) == 3 {
		width = qkv.shape[2]
	}
	if width < 0 || heads+2*keys <= 0 || width%(heads+2*keys) != 0 {
		return device.Errorf(device.CodeUnsupported, opExport, "the node %.120q: self_attention needs a last dimension of a fixed length to be written as Attention", s.id)
	}
	size := width / (heads + 2*keys)
	var parts []operand
	n := Node{Name: s.id + ".split", Type: "Split", Attributes: []Attribute{integer("axis", 2)}}
	for _, ending := range []string{".queries", ".keys", ".values"} {
		name := b.unique(s.id + ending)
		n.Outputs = append(n.Outputs, name)
		parts = append(parts, operand{name: name, kind: qkv.kind})
	}
	b.add(n, []operand{qkv, b.list(s.id+".sizes", heads*size, keys*size, keys*size)})
	attributes := []Attribute{integer("q_num_heads", heads), integer("kv_num_heads", keys), integer("is_causal", op.Int("is_causal"))}
	if op.Has("scale") {
		attributes = append(attributes, number("scale", op.Float("scale")))
	}
	parts[0].shape = qkv.shape
	parts = append(parts, s.inputs[1])
	b.growMask(s.id, parts)
	b.node("Attention", s.outputs[0], attributes, parts...)
	return nil
}

// attentionMask is the input of Attention with the mask.
const attentionMask = 3

// growMask expands a mask that is the same for all queries to the number of queries. The standard does not
// ask for that, but onnxruntime 1.32 does.
func (b *builder) growMask(id string, inputs []operand) {
	if len(inputs) <= attentionMask || inputs[attentionMask].name == "" {
		return
	}
	queries, mask := inputs[0], &inputs[attentionMask]
	rank := len(mask.shape)
	axis := int64(len(queries.shape) - 2)
	if rank > 1 && mask.shape[rank-2] != 1 || rank == 0 || axis < 1 || queries.shape[axis] == 1 {
		return
	}
	tokens := operand{name: b.unique(id + ".tokens"), kind: dtype.I64}
	b.node("Shape", tokens.name, []Attribute{integer("start", axis), integer("end", axis+1)}, queries)
	shape := operand{name: b.unique(id + ".mask_shape"), kind: dtype.I64}
	b.node("Concat", shape.name, []Attribute{integer("axis", 0)}, tokens, b.list(id+".one", 1))
	grown := b.unique(id + ".mask")
	b.node("Expand", grown, nil, *mask, shape)
	mask.name = grown
}

// ForOperator returns a model of one operator, for inputs with given types and shapes. Inputs whose elements
// Infer reads are constants of the model, without a place among its inputs. The other inputs and the outputs
// have the names of the operator's parameters; those of a variadic parameter have their position behind it.
// wanted is as in Operator.Infer. Errors: those of Operator.Infer; CodeUnsupported for an operator or a type
// that ONNX does not have.
func ForOperator(op *operator.Operator, inputs []operator.Value, wanted []bool) (*Graph, error) {
	inferred, err := op.Infer(inputs, wanted)
	if err != nil {
		return nil, err
	}
	b := newBuilder(op.FullName())
	s := step{id: "node", operator: op}
	b.names[s.id] = true
	describe := func(list []operator.Parameter, i int, v operator.Value) (Value, error) {
		made := Value{Name: positioned(list, i), Type: v.Type, HasShape: true, Shape: make([]Dim, len(v.Shape))}
		if operator.ONNXNumber(v.Type) == 0 {
			return Value{}, device.Errorf(device.CodeUnsupported, opExport, "%s: %q has the type %s, which ONNX does not have", op.FullName(), made.Name, v.Type)
		}
		for axis, length := range v.Shape {
			made.Shape[axis].Length = int64(length)
		}
		b.names[made.Name] = true
		return made, nil
	}
	for i, v := range inputs {
		if v.IsAbsent {
			s.inputs = append(s.inputs, operand{})
			continue
		}
		made, err := describe(op.Inputs, i, v)
		if err != nil {
			return nil, err
		}
		in := operand{name: made.Name, kind: v.Type, shape: signedOf(v.Shape)}
		if op.Inputs[min(i, len(op.Inputs)-1)].IsRead {
			in.kind = dtype.I64
			if v.Type == dtype.I32 {
				// Known has the elements of both types. All operators take I64.
				v.Type = dtype.I64
			}
			in.name = b.integers(made.Name+".elements", v.Shape, v.Known...).name
		} else {
			b.inputs = append(b.inputs, made)
		}
		s.inputs = append(s.inputs, in)
	}
	for i, v := range inferred.Outputs {
		if v.IsAbsent {
			s.outputs = append(s.outputs, "")
			continue
		}
		made, err := describe(op.Outputs, i, v)
		if err != nil {
			return nil, err
		}
		b.outputs, s.outputs = append(b.outputs, made), append(s.outputs, made.Name)
	}
	if err := b.step(s); err != nil {
		return nil, err
	}
	d, err := b.document()
	if err != nil {
		return nil, err
	}
	return d.graph(), nil
}

func signedOf(shape []uint64) []int64 {
	lengths := make([]int64, len(shape))
	for i, length := range shape {
		lengths[i] = int64(length)
	}
	return lengths
}
