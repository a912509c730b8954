package onnx

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/weights"
)

// The keys of the metadata of a model that this package writes: the metadata and the dimensions of a
// definition, and the rules for inputs that a run does not give.
const (
	metadataKey     = "ferrum.metadata"
	architectureKey = "ferrum.architecture"
	defaultsKey     = "ferrum.defaults"
)

// FromDefinition returns the graph of a definition. Operators of the domain "ferrum" become operators of
// ONNX; a layer of another domain becomes a Function in this domain, whose operator has no attributes.
// Constants keep their elements, and all other parameters are Initializers. Inputs and outputs keep their
// names.
//
// Errors: CodeInvalidConfig for a definition that is not valid; CodeUnsupported for an operator or a type
// that ONNX does not have.
func FromDefinition(m *ir.Model) (*Graph, error) {
	d, err := documentOf(m, forRuntime)
	if err != nil {
		return nil, err
	}
	return d.graph(), nil
}

// exporter writes a definition as nodes.
type exporter struct {
	*builder
	of *ir.Model
	*ir.Resolved
	// values has the name of each output of each node.
	values [][]string
	// parameters has the name of each parameter, transposed the name of its transposed form. "": it does
	// not exist yet.
	parameters, transposed []string
	// plainUses counts the uses of each parameter other than as the matrix of a product.
	plainUses []int
	purpose   purpose
	functions []Function
}

// purpose states who reads a document.
type purpose uint8

const (
	// forFile is for any program: a layer of another domain keeps its name and its attributes.
	forFile purpose = iota
	// forRuntime is for a runtime of this process: such a layer is a Function.
	forRuntime
)

func documentOf(m *ir.Model, p purpose) (*document, error) {
	g, err := m.Resolve()
	if err != nil {
		return nil, err
	}
	e := &exporter{
		builder: newBuilder(m.Metadata.Name), of: m, Resolved: g, values: make([][]string, len(g.Nodes)),
		parameters: make([]string, len(m.Parameters)), transposed: make([]string, len(m.Parameters)), plainUses: make([]int, len(m.Parameters)),
		purpose: p,
	}
	if e.name == "" {
		e.name = "model"
	}
	if err := e.describe(); err != nil {
		return nil, err
	}
	e.reserve()
	for _, at := range g.Order {
		if e.layer(at).Type == ir.InputType {
			continue
		}
		if err := e.export(at); err != nil {
			return nil, err
		}
	}
	for _, at := range g.Outputs {
		v, err := e.value(e.values[at][0], &e.layer(at).Outputs[0], nil)
		if err != nil {
			return nil, err
		}
		e.outputs = append(e.outputs, v)
	}
	d, err := e.document()
	if err != nil {
		return nil, err
	}
	d.functions = e.functions
	return d, nil
}

func (e *exporter) layer(at int) *ir.Layer { return &e.of.Layers[e.Nodes[at].Layer] }

// describe adds the inputs and the metadata.
func (e *exporter) describe() error {
	defaults := map[string]ir.Default{}
	for _, in := range e.Inputs {
		id := e.of.Graph.Nodes[in.Node].ID
		v, err := e.value(e.unique(id), &e.layer(in.Node).Outputs[0], in.Dims)
		if err != nil {
			return err
		}
		e.inputs = append(e.inputs, v)
		e.values[in.Node] = []string{v.Name}
		if in.Default != "" {
			defaults[v.Name] = in.Default
		}
	}
	for _, entry := range []struct {
		key   string
		value any
	}{{metadataKey, e.of.Metadata}, {architectureKey, e.of.Architecture}, {defaultsKey, defaults}} {
		text, err := json.Marshal(entry.value)
		if err != nil {
			return device.Errorf(device.CodeSerialization, opExport, "%s: %w", entry.key, err)
		}
		e.metadata = append(e.metadata, Entry{entry.key, string(text)})
	}
	return nil
}

// reserve gives the outputs of the model, the parameters and then the other values their names. ONNX has one
// space of names for all of them.
func (e *exporter) reserve() {
	for _, at := range e.Outputs {
		if e.values[at] == nil {
			e.values[at] = []string{e.unique(e.of.Graph.Nodes[at].ID)}
		}
	}
	for i := range e.of.Parameters {
		e.parameters[i] = e.unique(e.of.Parameters[i].Name)
	}
	for at := range e.Nodes {
		for i, t := range e.layer(at).Outputs {
			switch {
			case i < len(e.values[at]):
			case t.Name == "":
				e.values[at] = append(e.values[at], "")
			case i == 0:
				e.values[at] = append(e.values[at], e.unique(e.of.Graph.Nodes[at].ID))
			default:
				e.values[at] = append(e.values[at], e.unique(e.of.Graph.Nodes[at].ID+"."+t.Name))
			}
		}
		for input, o := range e.Nodes[at].Operands {
			if o.Parameter != ir.None && !(isProduct(e.Nodes[at].Operator) && input == matrixInput) {
				e.plainUses[o.Parameter]++
			}
		}
	}
	for i := range e.parameters {
		if e.plainUses[i] == 0 {
			delete(e.names, e.parameters[i])
		}
		e.parameters[i], e.transposed[i] = "", ""
	}
}

// value describes an input or an output of the model.
func (e *exporter) value(name string, t *ir.Tensor, dims []string) (Value, error) {
	if operator.ONNXNumber(t.DType) == 0 {
		return Value{}, device.Errorf(device.CodeUnsupported, opExport, "%.120q has the type %s, which ONNX does not have", name, t.DType)
	}
	v := Value{Name: name, Type: t.DType, HasShape: true, Shape: make([]Dim, len(t.Shape))}
	for i, length := range t.Shape {
		v.Shape[i] = Dim{Length: length}
		if length == ir.Dynamic && dims != nil {
			v.Shape[i].Name = dims[i]
		}
	}
	return v, nil
}

// export adds the nodes of a node of the definition.
func (e *exporter) export(at int) error {
	n, l := &e.Nodes[at], e.layer(at)
	s := step{id: e.of.Graph.Nodes[at].ID, operator: n.Operator, outputs: e.values[at], inputs: make([]operand, len(n.Operands))}
	for i, o := range n.Operands {
		in := &s.inputs[i]
		switch {
		case o.Parameter != ir.None:
			isMatrix := isProduct(n.Operator) && i == matrixInput && e.plainUses[o.Parameter] == 0
			name, err := e.parameter(o.Parameter, isMatrix)
			if err != nil {
				return err
			}
			*in = operand{name: name, kind: l.Inputs[i].DType, shape: l.Inputs[i].Shape, isTransposed: isMatrix}
		case !o.IsAbsent():
			*in = operand{name: e.values[o.Node][o.Output], kind: l.Inputs[i].DType, shape: l.Inputs[i].Shape}
		}
	}
	if domain, _ := operator.SplitName(l.Type); domain != operator.ONNX && domain != operator.Ferrum {
		return e.custom(at, s)
	}
	return e.step(s)
}

// custom adds a node of another domain, and states the types and shapes of its outputs, which no reader of
// ONNX can infer.
func (e *exporter) custom(at int, s step) error {
	l := e.layer(at)
	domain, name := operator.SplitName(l.Type)
	var attributes []Attribute
	if e.purpose == forRuntime {
		name = fmt.Sprintf("%s.%d", name, at)
		e.functions = append(e.functions, Function{Domain: domain, Name: name, Node: at})
	} else {
		var err error
		if attributes, err = attributesOfLayer(l, s.operator); err != nil {
			return err
		}
	}
	e.add(Node{Name: s.id, Domain: domain, Type: name, Outputs: s.outputs, Attributes: attributes}, s.inputs)
	for i := range l.Outputs {
		isOutput := i == 0 && slices.Contains(e.Outputs, at)
		if s.outputs[i] == "" || isOutput {
			continue
		}
		v, err := e.value(s.outputs[i], &l.Outputs[i], nil)
		if err != nil {
			return err
		}
		e.stated = append(e.stated, v)
	}
	return nil
}

// attributesOfLayer returns the configuration of a layer of another domain as attributes.
func attributesOfLayer(l *ir.Layer, of *operator.Operator) ([]Attribute, error) {
	config := l.Config
	if of.Custom != nil {
		// With the defaults of the layer type, which other programs do not know.
		config = nil
		if err := json.Unmarshal(of.Config(), &config); err != nil {
			return nil, device.Errorf(device.CodeSerialization, opExport, "the layer %.120q: %w", l.Name, err)
		}
	}
	attributes, wrong := attributesOfConfig(config)
	if wrong != "" {
		return nil, device.Errorf(device.CodeUnsupported, opExport, "the layer %.120q: the attribute %.120q is not an integer, a number, a text or a list of them", l.Name, wrong)
	}
	return attributes, nil
}

// parameter returns the name of a parameter, and adds its tensors when it is used first.
func (e *exporter) parameter(at int, isTransposed bool) (string, error) {
	p := &e.of.Parameters[at]
	known, wanted := &e.parameters[at], p.Name
	if isTransposed {
		known, wanted = &e.transposed[at], p.Name+".transposed"
	}
	if *known != "" {
		return *known, nil
	}
	if operator.ONNXNumber(p.DType) == 0 {
		return "", device.Errorf(device.CodeUnsupported, opExport, "the parameter %.120q has the type %s, which ONNX does not have", p.Name, p.DType)
	}
	if e.plainUses[at] > 0 && !isTransposed {
		// reserve has kept the name.
		delete(e.names, wanted)
	}
	*known = e.unique(wanted)
	switch {
	case p.IsConstant():
		shape := lengthsOf(p.Shape)
		var bytes []byte
		for _, n := range p.Value {
			bytes = binary.LittleEndian.AppendUint64(bytes, uint64(n))
		}
		e.constant(*known, p.DType, shape, bytes)
		return *known, nil
	case len(p.Parts) == 0:
		return *known, e.initializer(initializerOf(p, *known, isTransposed))
	}
	parts := make([]operand, len(p.Parts))
	for i := range p.Parts {
		part := &p.Parts[i]
		name := part.Name
		if isTransposed {
			name += ".transposed"
		}
		parts[i] = operand{name: e.unique(name), kind: part.DType}
		if err := e.initializer(initializerOf(part, parts[i].name, isTransposed)); err != nil {
			return "", err
		}
	}
	axis := int64(0)
	if isTransposed {
		axis = 1
	}
	e.node("Concat", *known, []Attribute{integer("axis", axis)}, parts...)
	return *known, nil
}

// initializerOf describes a parameter as a tensor without elements.
func initializerOf(p *ir.Parameter, name string, isTransposed bool) Initializer {
	made := Initializer{
		Name: name, Type: p.DType, Shape: lengthsOf(p.Shape), Parameter: p, IsTransposed: isTransposed,
		Spec: weights.Spec{
			Name: name, Tensor: p.Source, Shape: lengthsOf(p.Shape), Type: &p.DType,
			Transformations: []weights.Transformation{{Kind: weights.Cast, Type: p.DType}},
		},
	}
	if isTransposed {
		slices.Reverse(made.Shape)
		made.Spec.Transformations = append(made.Spec.Transformations, weights.Transformation{Kind: weights.Transpose, Dim0: 0, Dim1: 1})
	}
	return made
}

func lengthsOf(shape []int64) []uint64 {
	lengths := make([]uint64, len(shape))
	for i, length := range shape {
		lengths[i] = uint64(length)
	}
	return lengths
}
