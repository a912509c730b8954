package model

import (
	"encoding/json"
	"fmt"
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
	backend *backend.Backend
	layers  map[string]*ir.Layer
	ops     map[string]*backend.Op
	// edges has the edge that ends at an input of a node.
	edges map[port]ir.Edge
	// first has the number of the first output of each node.
	first map[string]int
	known map[string]*parameter
}

// port is an input of a node.
type port struct {
	node  string
	input uint32
}

func number(at *uint32) uint32 {
	if at == nil {
		return 0
	}
	return *at
}

// compile prepares the operations of a definition, which is valid. Errors: those of Backend.Prepare,
// which name the layer; CodeModel for a definition that is not valid after all. After an error no
// operation is left.
func compile(definition *ir.Model, b *backend.Backend) (*program, error) {
	c := &compiler{
		program: &program{definition: definition}, backend: b, layers: map[string]*ir.Layer{}, ops: map[string]*backend.Op{},
		edges: map[port]ir.Edge{}, first: map[string]int{}, known: map[string]*parameter{},
	}
	err := c.compile()
	if err != nil {
		c.program.close()
		return nil, err
	}
	return c.program, nil
}

// close ends the operations.
func (p *program) close() {
	for _, op := range p.ops {
		_ = op.Close() // the backend may have been closed by force
	}
	p.ops = nil
}

func (c *compiler) wrong(format string, values ...any) error {
	return device.Errorf(device.CodeModel, opCompile, format, values...)
}

func (c *compiler) compile() error {
	for i := range c.definition.Layers {
		c.layers[c.definition.Layers[i].Name] = &c.definition.Layers[i]
	}
	for _, e := range c.definition.Graph.Edges {
		c.edges[port{e.Target, number(e.TargetInput)}] = e
	}
	order, err := c.order()
	if err != nil {
		return err
	}
	for _, n := range order {
		layer := c.layers[n.LayerName]
		c.first[n.ID] = c.values
		c.values += len(layer.Outputs)
	}
	for _, n := range order {
		if err := c.add(n, c.layers[n.LayerName]); err != nil {
			return err
		}
	}
	for _, id := range c.definition.Graph.Outputs {
		first, isThere := c.first[id]
		if !isThere {
			return c.wrong("graph.outputs: there is no node %q", id)
		}
		c.outputs = append(c.outputs, output{name: id, value: first})
	}
	c.fixDims()
	c.findTables()
	return nil
}

// order sorts the nodes so that each one follows those that it depends on. Nodes that do not depend on
// each other keep the order of the definition.
func (c *compiler) order() ([]*ir.Node, error) {
	graph := &c.definition.Graph
	missing, next := map[string]int{}, map[string][]int{}
	at := make(map[string]int, len(graph.Nodes))
	for i := range graph.Nodes {
		n := &graph.Nodes[i]
		if c.layers[n.LayerName] == nil {
			return nil, c.wrong("node %q: there is no layer %q", n.ID, n.LayerName)
		}
		at[n.ID] = i
	}
	for _, e := range graph.Edges {
		if _, isThere := at[e.Target]; !isThere {
			return nil, c.wrong("an edge ends at the node %q, which does not exist", e.Target)
		}
		missing[e.Target]++
		next[e.Source] = append(next[e.Source], at[e.Target])
	}
	var order []*ir.Node
	ready := []int{}
	for i := range graph.Nodes {
		if missing[graph.Nodes[i].ID] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		order = append(order, &graph.Nodes[i])
		for _, target := range next[graph.Nodes[i].ID] {
			id := graph.Nodes[target].ID
			if missing[id]--; missing[id] == 0 {
				place, _ := slices.BinarySearch(ready, target)
				ready = slices.Insert(ready, place, target)
			}
		}
	}
	if len(order) != len(graph.Nodes) {
		return nil, c.wrong("the graph has a cycle: %d of %d nodes can run", len(order), len(graph.Nodes))
	}
	return order, nil
}

// add adds a node.
func (c *compiler) add(n *ir.Node, layer *ir.Layer) error {
	if layer.Type == ir.InputType {
		made, err := c.input(n, layer)
		if err == nil {
			c.inputs = append(c.inputs, made)
		}
		return err
	}
	op, err := c.prepare(layer)
	if err != nil {
		return err
	}
	made := node{id: n.ID, layer: layer, op: op}
	for i, in := range layer.Inputs {
		from, err := c.operand(n, layer, i, in)
		if err != nil {
			return err
		}
		if from.kind == ofParameter {
			p := c.parameters[from.at]
			p.uses = append(p.uses, use{node: len(c.nodes), input: i})
		}
		made.inputs = append(made.inputs, from)
	}
	for i, out := range layer.Outputs {
		value := c.first[n.ID] + i
		if out.Name == "" {
			value = -1
		}
		made.outputs, made.wanted = append(made.outputs, value), append(made.wanted, value >= 0)
	}
	c.nodes = append(c.nodes, made)
	return nil
}

// prepare prepares the operation of a layer once.
func (c *compiler) prepare(layer *ir.Layer) (*backend.Op, error) {
	if op := c.ops[layer.Name]; op != nil {
		return op, nil
	}
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
	c.ops[layer.Name] = op
	c.program.ops = append(c.program.ops, op)
	return op, nil
}

// operand returns an input of a node.
func (c *compiler) operand(n *ir.Node, layer *ir.Layer, i int, in ir.Tensor) (operand, error) {
	if in.Name == "" {
		return operand{}, nil
	}
	if slices.Contains(layer.Parameters, in.Name) {
		return c.parameter(layer, in.Name)
	}
	edge, isThere := c.edges[port{n.ID, uint32(i)}]
	if !isThere {
		return operand{}, c.wrong("node %q: input %q has no edge and is no parameter", n.ID, in.Name)
	}
	first, isThere := c.first[edge.Source]
	if !isThere {
		return operand{}, c.wrong("node %q: an edge begins at the node %q, which does not exist", n.ID, edge.Source)
	}
	return operand{ofValue, first + int(number(edge.SourceOutput))}, nil
}

// parameter returns a parameter, which becomes part of the program.
func (c *compiler) parameter(layer *ir.Layer, name string) (operand, error) {
	if p := c.known[name]; p != nil {
		return operand{ofParameter, p.number}, nil
	}
	for i := range c.definition.Parameters {
		if spec := &c.definition.Parameters[i]; spec.Name == name {
			p := &parameter{spec: spec, number: len(c.parameters)}
			c.known[name] = p
			c.parameters = append(c.parameters, p)
			return operand{ofParameter, p.number}, nil
		}
	}
	return operand{}, c.wrong("layer %q: there is no parameter %q", layer.Name, name)
}

// input is an input of the model.
type input struct {
	name  string
	kind  dtype.DType
	shape []int64
	// dims names the dynamic dimensions; "" for one with a fixed length. names has all names.
	dims, names []string
	// rule makes the elements if a run does not give them; "": it must.
	rule  ir.Default
	value int
	// table is the parameter whose rows the elements index, and rows their number; nil: none.
	table *ir.Parameter
	rows  int64
}

func (c *compiler) input(n *ir.Node, layer *ir.Layer) (input, error) {
	if len(layer.Outputs) != 1 {
		return input{}, c.wrong("input %q has %d outputs: want one", n.ID, len(layer.Outputs))
	}
	out := layer.Outputs[0]
	made := input{name: n.ID, kind: out.DType, shape: out.Shape, dims: make([]string, len(out.Shape)), value: c.first[n.ID]}
	made.names = make([]string, len(out.Shape))
	if text, isThere := n.Metadata[ir.MetadataDims]; isThere {
		if err := json.Unmarshal(text, &made.names); err != nil || len(made.names) != len(out.Shape) {
			return input{}, c.wrong("input %q: metadata.%s is not a list of %d names", n.ID, ir.MetadataDims, len(out.Shape))
		}
	}
	for axis, length := range out.Shape {
		switch {
		case length != ir.Dynamic:
		case made.names[axis] != "":
			made.dims[axis] = made.names[axis]
		default:
			made.dims[axis] = fmt.Sprintf("%s.%d", n.ID, axis)
		}
	}
	if text, isThere := n.Metadata[ir.MetadataDefault]; isThere {
		if err := json.Unmarshal(text, &made.rule); err != nil || !slices.Contains([]ir.Default{ir.DefaultZeros, ir.DefaultOnes, ir.DefaultPositions}, made.rule) {
			return input{}, c.wrong("input %q: metadata.%s is none of zeros, ones and positions", n.ID, ir.MetadataDefault)
		}
	}
	return made, nil
}

// fixDims gives dynamic dimensions the lengths of fixed ones with the same name.
func (c *compiler) fixDims() {
	fixed := map[string]int64{}
	for i := range c.inputs {
		for axis, name := range c.inputs[i].names {
			if name != "" && c.inputs[i].shape[axis] != ir.Dynamic {
				fixed[name] = c.inputs[i].shape[axis]
			}
		}
	}
	for i := range c.inputs {
		in := &c.inputs[i]
		in.shape = slices.Clone(in.shape)
		for axis, name := range in.dims {
			if length, isFixed := fixed[name]; isFixed && name != "" {
				in.shape[axis], in.dims[axis] = length, ""
			}
		}
	}
}

// findTables finds the inputs that index the rows of a parameter.
func (c *compiler) findTables() {
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.op.Name() != "Gather" || len(n.inputs) != 2 || n.inputs[0].kind != ofParameter || n.inputs[1].kind != ofValue {
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
