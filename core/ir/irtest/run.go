package irtest

import (
	"encoding/json"
	"fmt"

	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/operator/reference"
)

// execution is one run of a model.
type execution struct {
	model      *ir.Model
	parameters func(*ir.Parameter) (*reference.Tensor, error)
	layers     map[string]*ir.Layer
	stored     map[string]*reference.Tensor
	// incoming has the edges of each node.
	incoming map[string][]ir.Edge
	// results has the outputs of each node that is done; nil while it is computed.
	results map[string][]*reference.Tensor
}

// Run computes the outputs of a model in float64. inputs has a tensor for each input; an input with a
// default may be missing. parameters returns the elements of a parameter, such as Elements. The result has
// the first output of each output node.
func Run(m *ir.Model, inputs map[string]*reference.Tensor, parameters func(*ir.Parameter) (*reference.Tensor, error)) (map[string]*reference.Tensor, error) {
	e := &execution{
		model: m, parameters: parameters, layers: map[string]*ir.Layer{}, stored: map[string]*reference.Tensor{},
		incoming: map[string][]ir.Edge{}, results: map[string][]*reference.Tensor{},
	}
	for i := range m.Layers {
		e.layers[m.Layers[i].Name] = &m.Layers[i]
	}
	for _, edge := range m.Graph.Edges {
		e.incoming[edge.Target] = append(e.incoming[edge.Target], edge)
	}
	if err := e.give(inputs); err != nil {
		return nil, err
	}
	outputs := map[string]*reference.Tensor{}
	for _, id := range m.Graph.Outputs {
		results, err := e.compute(id)
		if err != nil {
			return nil, err
		}
		outputs[id] = results[0]
	}
	return outputs, nil
}

// give stores the inputs of the model.
func (e *execution) give(inputs map[string]*reference.Tensor) error {
	lengths := map[string]uint64{}
	for id, tensor := range inputs {
		for i, name := range dimsOf(e.model, id) {
			if i < len(tensor.Shape) {
				lengths[name] = tensor.Shape[i]
			}
		}
	}
	for _, id := range e.model.Graph.Inputs {
		tensor := inputs[id]
		if tensor == nil {
			made, err := defaultInput(e.model, id, lengths)
			if err != nil {
				return err
			}
			tensor = made
		}
		e.results[id] = []*reference.Tensor{tensor}
	}
	return nil
}

func nodeOf(m *ir.Model, id string) *ir.Node {
	for i := range m.Graph.Nodes {
		if m.Graph.Nodes[i].ID == id {
			return &m.Graph.Nodes[i]
		}
	}
	return nil
}

// dimsOf returns the names of the dimensions of an input.
func dimsOf(m *ir.Model, id string) []string {
	var names []string
	if node := nodeOf(m, id); node != nil {
		_ = json.Unmarshal(node.Metadata[ir.MetadataDims], &names)
	}
	return names
}

// newInput returns zeros with the shape of an input.
func newInput(m *ir.Model, id string, lengths map[string]uint64) (*reference.Tensor, error) {
	node := nodeOf(m, id)
	if node == nil {
		return nil, fmt.Errorf("input %q has no node", id)
	}
	for _, layer := range m.Layers {
		if layer.Name != node.LayerName {
			continue
		}
		out, names := layer.Outputs[0], dimsOf(m, id)
		shape := make([]uint64, len(out.Shape))
		for i, size := range out.Shape {
			shape[i] = uint64(size)
			if size == ir.Dynamic {
				length, isKnown := lengths[names[i]]
				if !isKnown {
					return nil, fmt.Errorf("input %q: the length of %q is not known", id, names[i])
				}
				shape[i] = length
			}
		}
		return reference.New(out.DType, shape), nil
	}
	return nil, fmt.Errorf("input %q has no layer", id)
}

// defaultInput returns the elements of an input that is not given.
func defaultInput(m *ir.Model, id string, lengths map[string]uint64) (*reference.Tensor, error) {
	tensor, err := newInput(m, id, lengths)
	if err != nil {
		return nil, err
	}
	var rule string
	_ = json.Unmarshal(nodeOf(m, id).Metadata[ir.MetadataDefault], &rule)
	for i := range tensor.Ints {
		switch rule {
		case "ones":
			tensor.Ints[i] = 1
		case "positions":
			tensor.Ints[i] = int64(i) % int64(tensor.Shape[len(tensor.Shape)-1])
		}
	}
	if rule == "" {
		return nil, fmt.Errorf("input %q is missing and has no default", id)
	}
	return tensor, nil
}

// compute returns the outputs of a node. It computes the nodes before it first.
func (e *execution) compute(id string) ([]*reference.Tensor, error) {
	if results, isKnown := e.results[id]; isKnown {
		if results == nil {
			return nil, fmt.Errorf("node %q depends on itself", id)
		}
		return results, nil
	}
	e.results[id] = nil
	node := nodeOf(e.model, id)
	if node == nil || e.layers[node.LayerName] == nil {
		return nil, fmt.Errorf("node %q or its layer is missing", id)
	}
	layer := e.layers[node.LayerName]
	inputs, err := e.inputs(id, layer)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(layer.Config)
	if err != nil {
		return nil, err
	}
	if layer.Config == nil {
		text = nil
	}
	schema, err := operator.Find(splitType(layer.Type))
	if err != nil {
		return nil, err
	}
	op, err := schema.Prepare(text)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", id, err)
	}
	if isSameCast(op, inputs) {
		e.results[id] = inputs
		return inputs, nil
	}
	wanted := make([]bool, len(layer.Outputs))
	for i := range wanted {
		wanted[i] = true
	}
	results, err := reference.Run(op, inputs, wanted)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", id, err)
	}
	e.results[id] = results
	return results, nil
}

// isSameCast states whether an operator converts to the type that the input has. The reference keeps more
// digits than the type has, and would round them.
func isSameCast(op *operator.Operator, inputs []*reference.Tensor) bool {
	to, _ := op.DataType("to")
	return op.Name == "Cast" && inputs[0] != nil && inputs[0].Type == to
}

func splitType(full string) (domain, name string, opset int) {
	domain, name = operator.SplitName(full)
	return domain, name, 0
}

// inputs returns the inputs of a node: parameters, and outputs of other nodes.
func (e *execution) inputs(id string, layer *ir.Layer) ([]*reference.Tensor, error) {
	inputs := make([]*reference.Tensor, len(layer.Inputs))
	for at, in := range layer.Inputs {
		for _, name := range layer.Parameters {
			if name != in.Name {
				continue
			}
			tensor, err := e.parameter(name)
			if err != nil {
				return nil, err
			}
			inputs[at] = tensor
		}
	}
	for _, edge := range e.incoming[id] {
		results, err := e.compute(edge.Source)
		if err != nil {
			return nil, err
		}
		inputs[position(edge.TargetInput)] = results[position(edge.SourceOutput)]
	}
	return inputs, nil
}

func position(at *uint32) int {
	if at == nil {
		return 0
	}
	return int(*at)
}

func (e *execution) parameter(name string) (*reference.Tensor, error) {
	if stored := e.stored[name]; stored != nil {
		return stored, nil
	}
	for i := range e.model.Parameters {
		if p := &e.model.Parameters[i]; p.Name == name {
			tensor, err := e.parameters(p)
			e.stored[name] = tensor
			return tensor, err
		}
	}
	return nil, fmt.Errorf("parameter %q is missing", name)
}
