package onnx

import (
	"encoding/json"
	"fmt"
	"slices"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
)

// The layers, nodes and parameters of a definition that is made from a file.

// use is a node to be added: its id, the full name of its operator, and its attributes. layer is the name of
// the layer; "": the id.
type use struct {
	id, layer, kind string
	config          map[string]json.RawMessage
}

// unique returns a name that is not taken yet: the wanted one, or one with a number. An id that is an output
// of the graph is kept for it.
func unique(taken map[string]bool, wanted string) string {
	name := wanted
	for i := 1; taken[name] || name == ""; i++ {
		name = fmt.Sprintf("%s_%d", wanted, i)
	}
	taken[name] = true
	return name
}

// add adds a node with its layer. The outputs get the node. It returns the outputs.
func (c *converter) add(u use, in, out []*value) ([]*value, error) {
	if u.layer == "" {
		u.layer = u.id
	}
	l := ir.Layer{Name: unique(c.layers, u.layer), Type: u.kind, Inputs: make([]ir.Tensor, len(in)), Outputs: make([]ir.Tensor, len(out)), Parameters: []string{}, Config: u.config}
	// The operands may add nodes of their own, which come first.
	uses := map[*value]int{}
	sources := make([]*value, len(in))
	for i, v := range in {
		l.Inputs[i] = ir.Tensor{Shape: []int64{}}
		if v == nil {
			continue
		}
		source, err := c.operand(v, uses[v])
		if err != nil {
			return nil, err
		}
		uses[v]++
		sources[i] = source
		if source.node == "" {
			name := source.parameters[min(uses[v], len(source.parameters))-1]
			l.Parameters = append(l.Parameters, name)
			l.Inputs[i] = ir.Tensor{Name: name, Shape: declared(source.shape), DType: source.kind}
		}
	}
	taken := map[string]bool{"": true}
	for _, name := range l.Parameters {
		taken[name] = true
	}
	for i, source := range sources {
		if source != nil && source.node != "" {
			l.Inputs[i] = ir.Tensor{Name: unique(taken, fmt.Sprintf("in%d", i)), Shape: declared(source.shape), DType: source.kind}
			c.m.Graph.Edges = append(c.m.Graph.Edges, edge(source, u.id, i))
		}
	}
	for i, v := range out {
		l.Outputs[i] = ir.Tensor{Shape: []int64{}}
		if v == nil {
			continue
		}
		l.Outputs[i] = ir.Tensor{Name: unique(taken, fmt.Sprintf("out%d", i)), Shape: declared(v.shape), DType: v.kind}
		v.node, v.output = u.id, i
		if v.name != "" {
			c.values[v.name] = v
		}
	}
	c.m.Layers = append(c.m.Layers, l)
	c.m.Graph.Nodes = append(c.m.Graph.Nodes, ir.Node{ID: u.id, LayerName: l.Name})
	return out, nil
}

func edge(source *value, target string, input int) ir.Edge {
	e := ir.Edge{Source: source.node, Target: target}
	if source.output > 0 {
		from := uint32(source.output)
		e.SourceOutput = &from
	}
	if input > 0 {
		to := uint32(input)
		e.TargetInput = &to
	}
	return e
}

// declared returns a shape as layers declare it.
func declared(shape []expression) []int64 {
	lengths := make([]int64, len(shape))
	for i, e := range shape {
		lengths[i] = ir.Dynamic
		if e.isNumber() && e.factor >= 0 {
			lengths[i] = e.factor
		}
	}
	return lengths
}

// operand returns the value as an input of a node: an output of a node, or a parameter. again is the number
// of inputs of the same node that read it already.
func (c *converter) operand(v *value, again int) (*value, error) {
	if err := c.realise(v); err != nil {
		return nil, err
	}
	switch {
	case v.node != "":
		return v, nil
	case v.sigmoid != nil:
		before := c.node
		c.node = v.at
		err := c.unsupported("the operator is supported only in x * Sigmoid(x)")
		c.node = before
		return nil, err
	case len(v.parameters) > again:
		return v, nil
	case v.known != nil && (v.stored == nil || v.kind == dtype.I64):
		return c.knownOperand(v, again)
	}
	p := ir.Parameter{Name: unique(c.parameters, v.name), Shape: declared(v.shape), DType: v.kind, Trainable: v.kind.IsFloat(), Source: v.stored.Name}
	c.m.Parameters = append(c.m.Parameters, p)
	v.parameters = append(v.parameters, p.Name)
	return v, nil
}

// realise adds the nodes of a value that nothing has read yet.
func (c *converter) realise(v *value) error {
	if v.pending == nil {
		return nil
	}
	add := v.pending
	v.pending = nil
	return add()
}

// knownOperand makes a constant of known elements.
func (c *converter) knownOperand(v *value, again int) (*value, error) {
	elements, isKnown := v.numbers()
	if !isKnown {
		return nil, c.unsupported("the elements %v of the input %.120q depend on the lengths of a run", texts(v.known), v.name)
	}
	p := ir.Parameter{
		Name: unique(c.parameters, v.name), Shape: declared(v.shape), DType: dtype.I64, Value: elements,
		Initialization: ir.Initialization{Strategy: ir.StrategyZeros},
	}
	if len(elements) == 0 {
		p.Value = nil // it is an empty tensor of zeros
	}
	c.m.Parameters = append(c.m.Parameters, p)
	if v.kind == dtype.I64 {
		v.parameters = append(v.parameters, p.Name)
		return v, nil
	}
	source := &value{name: "", kind: dtype.I64, shape: v.shape, known: v.known, parameters: []string{p.Name}}
	made := &value{kind: v.kind, shape: v.shape}
	if _, err := c.add(use{id: unique(c.ids, v.name+".cast"), kind: "Cast", config: map[string]json.RawMessage{"to": raw(v.kind.String())}}, []*value{source}, []*value{made}); err != nil {
		return nil, err
	}
	v.node, v.output = made.node, 0
	return v, nil
}

func texts(list []expression) []string {
	const most = 8
	var all []string
	for i, e := range list {
		if i == most {
			return append(all, "...")
		}
		all = append(all, e.String())
	}
	return all
}

// ordinary adds a node of an operator of our vocabulary. Older forms become those of the default opset.
func (c *converter) ordinary(in []*value) error {
	n := c.node
	opset := 0
	if n.Domain == operator.ONNX {
		opset = int(c.Opset(operator.ONNX))
	}
	form, err := operator.Find(n.Domain, n.Type, opset)
	if err != nil {
		if newest, _ := operator.Find(n.Domain, n.Type, 0); newest != nil {
			return c.wrong("opset %d does not have the operator", opset)
		}
		return c.unsupported("the operator %.120s is not computed by the library", n.fullName())
	}
	op, config, err := c.prepare(form, in)
	if err != nil {
		return err
	}
	if in, err = c.modernise(op, config, in); err != nil {
		return err
	}
	modern, err := operator.Find(n.Domain, n.Type, 0)
	if err == nil {
		op, err = modern.Prepare(raw(config))
	}
	if err != nil {
		return c.wrong("%s", Message(err))
	}
	if err := c.readInputs(op, in); err != nil {
		return err
	}
	out, wrong := c.outputsOf(op, n, in)
	if wrong != "" {
		return c.unsupported("it %s", wrong)
	}
	_, err = c.add(use{id: c.idOf(out), layer: n.Name, kind: n.fullName(), config: config}, in, out)
	return err
}

// idOf chooses the id of a node: the name of its first output, which may be an output of the graph.
func (c *converter) idOf(out []*value) string {
	for i, v := range out {
		switch {
		case v == nil:
		case i == 0 && c.isOutput[v.name]:
			return v.name // it is kept for the node
		default:
			return unique(c.ids, v.name)
		}
	}
	return unique(c.ids, "node")
}

// json returns the attribute as it is in the configuration of a layer; nil: it is no number, text or list of
// them.
func (a *Attribute) json() json.RawMessage {
	switch a.Kind {
	case Float:
		return raw(a.Float)
	case Int:
		return raw(a.Int)
	case Text:
		return raw(a.Text)
	case Ints:
		return raw(orEmpty(a.Ints))
	case Floats:
		return raw(a.Floats)
	case Texts:
		return raw(a.Texts)
	}
	return nil
}

// prepare reads the attributes of a node in the form of the opset of the file.
func (c *converter) prepare(form *operator.Schema, in []*value) (*operator.Operator, map[string]json.RawMessage, error) {
	config := map[string]json.RawMessage{}
	for i := range c.node.Attributes {
		a := &c.node.Attributes[i]
		text := a.json()
		if text == nil || a.Kind == Floats || a.Kind == Texts {
			return nil, nil, c.unsupported("the attribute %.120q is a tensor or a list that the operator does not have", a.Name)
		}
		config[a.Name] = text
	}
	last := len(form.Inputs) - 1
	if len(in) > len(form.Inputs) && !form.Inputs[last].IsVariadic {
		return nil, nil, c.wrong("it has %d inputs: at most %d are possible", len(in), len(form.Inputs))
	}
	op, err := form.Prepare(raw(config))
	if err != nil {
		return nil, nil, c.wrong("%s", Message(err))
	}
	return op, config, nil
}

// modernise changes what a node of an older opset has in another place: axes that are an attribute become an
// input, the number of parts of a Split an attribute, and the numbers of heads are left out where Attention
// does not need them.
func (c *converter) modernise(op *operator.Operator, config map[string]json.RawMessage, in []*value) ([]*value, error) {
	switch op.Name {
	case "ReduceMean", "ReduceMax":
		if axes, isGiven := op.Ints("axes"); isGiven {
			delete(config, "axes")
			in = append(slices.Clone(in[:min(1, len(in))]), c.integers(c.node.Outputs[0]+".axes", axes...))
		}
	case "Split":
		hasSizes := len(in) > 1 && in[1] != nil
		if !hasSizes && !op.Has("num_outputs") {
			config["num_outputs"] = raw(len(c.node.Outputs))
		}
	case "Attention":
		if len(in) > 0 && in[0] != nil && len(in[0].shape) == 4 {
			delete(config, "q_num_heads")
			delete(config, "kv_num_heads")
		}
		in = slices.Clone(in)
		if len(in) > attentionMask {
			in[attentionMask] = beforeExpand(in[attentionMask])
		}
	}
	return in, nil
}

// beforeExpand returns what a mask was before it was expanded: Attention broadcasts its mask. The last
// dimension must be that of the mask, because keys behind a shorter one are not attended.
func beforeExpand(mask *value) *value {
	for mask != nil && mask.grown != nil {
		from := mask.grown.shape
		if len(from) == 0 || from[len(from)-1] != mask.shape[len(mask.shape)-1] {
			break
		}
		mask = mask.grown
	}
	return mask
}

// readInputs makes the inputs known whose elements decide shapes.
func (c *converter) readInputs(op *operator.Operator, in []*value) error {
	for i, v := range in {
		p := op.Inputs[min(i, len(op.Inputs)-1)]
		if v == nil || !p.IsRead {
			continue
		}
		if v.known == nil && v.stored != nil && v.stored.Elements <= maxKnown && isInteger(v.kind) {
			if err := c.readKnown(v); err != nil {
				return err
			}
		}
		numbers, isKnown := v.numbers()
		if !isKnown {
			text := "is computed in a run"
			if v.known != nil {
				text = fmt.Sprintf("%v depends on the lengths of a run", texts(v.known))
			}
			return c.unsupported("the input %q %s", p.Name, text)
		}
		if v.kind != dtype.I64 {
			in[i] = c.integers(v.name+".i64", numbers...)
			in[i].shape = v.shape
		}
	}
	return nil
}

// custom adds a node of another domain, as the file states it. Package operator does not know it, so the
// file must state the types and shapes of its outputs.
func (c *converter) custom(in []*value) error {
	n := c.node
	config := map[string]json.RawMessage{}
	for i := range n.Attributes {
		a := &n.Attributes[i]
		text := a.json()
		if text == nil {
			return c.unsupported("the attribute %.120q is a tensor", a.Name)
		}
		config[a.Name] = text
	}
	out := make([]*value, len(n.Outputs))
	for i, name := range n.Outputs {
		if name == "" {
			continue
		}
		stated := c.stated[name]
		if stated == nil || !stated.HasShape {
			return c.unsupported("the file does not state the type and shape of its output %.120q", name)
		}
		v := &value{name: name, kind: stated.Type}
		for _, d := range stated.Shape {
			switch {
			case d.Length != ir.Dynamic:
				v.shape = append(v.shape, constantOf(d.Length))
			case d.Name != "":
				v.shape = append(v.shape, atomOf(d.Name))
			default:
				v.shape = append(v.shape, c.fresh())
			}
		}
		out[i] = v
	}
	_, err := c.add(use{id: c.idOf(out), layer: n.Name, kind: n.fullName(), config: config}, in, out)
	return err
}
