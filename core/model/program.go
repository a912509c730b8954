package model

import (
	"encoding/json"
	"slices"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
)

// program is a definition whose operations a backend has prepared. It depends on no lengths of dynamic
// dimensions, and does not change.
type program struct {
	definition *ir.Model
	nodes      []node // in an order in which they can run
	inputs     []input
	outputs    []output
	// parameters are those that a node uses, in the order of their first uses.
	parameters []*parameter
	// values counts the values.
	values int
	// ops are the prepared operations, one for each layer.
	ops []*backend.Op
	// rule bounds the choice of tiles; nil: all values are whole.
	rule *tileRule
}

// kindOf states what an input of a node is.
type kindOf uint8

const (
	absent kindOf = iota
	ofValue
	ofParameter
)

// operand is an input of a node: a value, or a parameter, by its number.
type operand struct {
	kind kindOf
	at   int
}

// node is an operation on values and parameters.
type node struct {
	id     string
	layer  *ir.Layer
	op     *backend.Op
	inputs []operand
	// outputs has the numbers of the values; -1: the output is absent.
	outputs []int
	wanted  []bool
}

// output is an output of the model.
type output struct {
	name  string
	value int
}

// compiler turns a definition into a program.
type compiler struct {
	*program
	of      *ir.Resolved
	backend *backend.Backend
	// prepared has the operation of each layer, and known each parameter of the program, by position.
	prepared []*backend.Op
	known    []*parameter
	// first has the number of the first output of each node, by position.
	first []int
}

// compile prepares the operations of a definition. Without a backend there are none. Errors: those of Backend.Prepare, which name the layer.
// After an error no operation is left.
func compile(of *ir.Resolved, b *backend.Backend) (*program, error) {
	m := of.Model
	c := &compiler{
		program: &program{definition: m}, of: of, backend: b,
		prepared: make([]*backend.Op, len(m.Layers)), known: make([]*parameter, len(m.Parameters)), first: make([]int, len(of.Nodes)),
	}
	for _, at := range of.Order {
		c.first[at] = c.values
		c.values += len(c.layerOf(at).Outputs)
	}
	for _, at := range of.Order {
		if err := c.add(at); err != nil {
			c.program.close()
			return nil, err
		}
	}
	c.addInputs()
	for _, at := range of.Outputs {
		c.outputs = append(c.outputs, output{name: m.Graph.Nodes[at].ID, value: c.first[at]})
	}
	c.findTables()
	return c.program, nil
}

// close ends the operations.
func (p *program) close() {
	for _, op := range p.ops {
		_ = op.Close() // the backend may have been closed by force
	}
	p.ops = nil
}

func (c *compiler) layerOf(node int) *ir.Layer { return &c.definition.Layers[c.of.Nodes[node].Layer] }

// add adds a node that is not an input of the model.
func (c *compiler) add(at int) error {
	n := &c.of.Nodes[at]
	if n.Operator == nil {
		return nil
	}
	layer := c.layerOf(at)
	var op *backend.Op
	if c.backend != nil {
		var err error
		if op, err = c.prepare(n.Layer); err != nil {
			return err
		}
	}
	made := node{id: c.definition.Graph.Nodes[at].ID, layer: layer, op: op, inputs: make([]operand, len(n.Operands))}
	for i, from := range n.Operands {
		switch {
		case from.Parameter != ir.None:
			p := c.parameter(from.Parameter)
			p.uses = append(p.uses, use{node: len(c.nodes), input: i})
			made.inputs[i] = operand{ofParameter, p.number}
		case from.Node != ir.None:
			made.inputs[i] = operand{ofValue, c.first[from.Node] + from.Output}
		}
	}
	for i, out := range layer.Outputs {
		value := c.first[at] + i
		if out.Name == "" {
			value = -1
		}
		made.outputs, made.wanted = append(made.outputs, value), append(made.wanted, value >= 0)
	}
	c.nodes = append(c.nodes, made)
	return nil
}

// prepare prepares the operation of a layer once.
func (c *compiler) prepare(at int) (*backend.Op, error) {
	if op := c.prepared[at]; op != nil {
		return op, nil
	}
	layer := &c.definition.Layers[at]
	attributes, err := json.Marshal(layer.Config)
	if err != nil {
		return nil, device.Errorf(device.CodeSerialization, opCompile, "layer %q: %w", layer.Name, err)
	}
	if layer.Config == nil {
		attributes = nil
	}
	op, err := c.backend.Prepare(layer.Type, attributes, 0)
	if err != nil {
		return nil, device.Errorf(device.CodeOf(err), opCompile, "layer %q: %w", layer.Name, err)
	}
	c.prepared[at] = op
	c.ops = append(c.ops, op)
	return op, nil
}

// parameter returns a parameter, which becomes part of the program.
func (c *compiler) parameter(at int) *parameter {
	if c.known[at] == nil {
		c.known[at] = &parameter{spec: &c.definition.Parameters[at], number: len(c.parameters)}
		c.parameters = append(c.parameters, c.known[at])
	}
	return c.known[at]
}

// input is an input of the model.
type input struct {
	name  string
	kind  dtype.DType
	shape []int64
	// dims names the dynamic dimensions; "" for one with a fixed length.
	dims []string
	// rule makes the elements if a run does not give them; "": it must.
	rule  ir.Default
	value int
	// table is the parameter whose rows the elements index, and rows their number; nil: none.
	table *ir.Parameter
	rows  int64
}

// addInputs adds the inputs of the model. Dynamic dimensions get the lengths of fixed ones with the same
// name.
func (c *compiler) addInputs() {
	fixed := map[string]int64{}
	for _, in := range c.of.Inputs {
		for axis, length := range c.layerOf(in.Node).Outputs[0].Shape {
			if in.Dims[axis] != "" && length != ir.Dynamic {
				fixed[in.Dims[axis]] = length
			}
		}
	}
	for _, in := range c.of.Inputs {
		out := &c.layerOf(in.Node).Outputs[0]
		made := input{
			name: c.definition.Graph.Nodes[in.Node].ID, kind: out.DType, shape: slices.Clone(out.Shape), dims: make([]string, len(out.Shape)),
			rule: in.Default, value: c.first[in.Node],
		}
		for axis, name := range in.Dims {
			length, isFixed := fixed[name]
			switch {
			case made.shape[axis] != ir.Dynamic:
			case isFixed:
				made.shape[axis] = length
			default:
				made.dims[axis] = name
			}
		}
		c.inputs = append(c.inputs, made)
	}
}

// findTables finds the inputs that index the rows of a parameter.
func (c *compiler) findTables() {
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.layer.Type != "Gather" || len(n.inputs) != 2 || n.inputs[0].kind != ofParameter || n.inputs[1].kind != ofValue {
			continue
		}
		spec := c.parameters[n.inputs[0].at].spec
		for j := range c.inputs {
			in := &c.inputs[j]
			isInteger := in.kind == dtype.I64 || in.kind == dtype.I32
			if in.value != n.inputs[1].at || !isInteger || len(spec.Shape) == 0 || !gathersRows(n.layer) {
				continue
			}
			if in.table == nil || spec.Shape[0] < in.rows {
				in.table, in.rows = spec, spec.Shape[0]
			}
		}
	}
}

// gathersRows states whether a Gather indexes the first dimension.
func gathersRows(layer *ir.Layer) bool {
	var axis int64
	text, isThere := layer.Config["axis"]
	return !isThere || json.Unmarshal(text, &axis) == nil && axis == 0
}
