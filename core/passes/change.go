package passes

import (
	"encoding/json"
	"slices"
	"strconv"

	"ferrum_mem/core/ir"
)

// disconnect removes the notes about what a node reads.
func (at *node) disconnect() {
	for _, old := range at.in {
		if old.from != nil {
			old.from.users = slices.DeleteFunc(old.from.users, func(u use) bool { return u.by == at })
		}
	}
}

// read sets what a node reads.
func (at *node) read(in []source) {
	at.in = slices.Clone(in)
	for input, s := range at.in {
		if s.from != nil {
			s.from.users = append(s.from.users, use{at, input, s.output})
		}
	}
}

// replace connects all inputs that read an output to another source, where the layer of the reader
// allows it.
func (n *network) replace(old source, by source) {
	for _, u := range slices.Clone(old.from.users) {
		if u.output == old.output {
			in := slices.Clone(u.by.in)
			in[u.input] = by
			n.reconnect(u.by, in)
		}
	}
}

// reconnect changes what a node reads. The layer follows if it has to. It returns false and does nothing if
// the layer would have a parameter twice.
func (n *network) reconnect(at *node, in []source) bool {
	if isDoubled(in) {
		return false
	}
	isSameForLayer := true
	for input, s := range in {
		old, made := at.in[input].tensor(), s.tensor()
		isSameForLayer = isSameForLayer && at.in[input].parameter == s.parameter && old.DType == made.DType && slices.Equal(old.Shape, made.Shape)
	}
	layer := at.layer
	if !isSameForLayer {
		layer = n.newLayer(at.layer, at.layer.Type, at.layer.Config, in, at.layer.Outputs)
	}
	n.rewrite(at, layer, in)
	return true
}

// isDoubled states whether a parameter is there twice. A layer cannot have such inputs.
func isDoubled(in []source) bool {
	for i, s := range in {
		if s.parameter != nil && slices.ContainsFunc(in[:i], func(other source) bool { return other.parameter == s.parameter }) {
			return true
		}
	}
	return false
}

// attributes are the attributes of an operator.
type attributes = map[string]json.RawMessage

// with returns attributes with one more, which is a text, a number or a list.
func with(given attributes, name string, value any) attributes {
	made := attributes{}
	for key, raw := range given {
		made[key] = raw
	}
	text, err := json.Marshal(value)
	if err == nil {
		made[name] = text
	}
	return made
}

// newLayer writes a layer: a full name of an operator, its attributes, what its inputs read, and its
// outputs. finish gives it the name of the layer that it replaces, if no node needs that one. If nodes share
// that layer, they share the written one as well.
func (n *network) newLayer(old *ir.Layer, full string, config attributes, in []source, outputs []ir.Tensor) *ir.Layer {
	for len(in) > 0 && in[len(in)-1].isAbsent() {
		in = in[:len(in)-1]
	}
	layer := &ir.Layer{Type: full, Config: config, Inputs: make([]ir.Tensor, len(in)), Parameters: []string{}}
	for at, s := range in {
		layer.Inputs[at] = s.tensor()
		if s.from != nil {
			layer.Inputs[at].Name = "input_" + strconv.Itoa(at)
		}
		if s.parameter != nil {
			layer.Parameters = append(layer.Parameters, s.parameter.Name)
		}
	}
	for at, out := range outputs {
		if out.Name != "" {
			out.Name = "output_" + strconv.Itoa(at)
		}
		layer.Outputs = append(layer.Outputs, out)
	}
	distinct(layer)
	content, err := json.Marshal(layer)
	key := old.Name + "\x00" + string(content)
	if known := n.written[key]; known != nil && err == nil {
		return known
	}
	layer.Name = n.unique(layerName, old.Name)
	n.written[key], n.replaced[layer] = layer, n.nameOf(old)
	return layer
}

// nameOf returns the name that a layer had before the pass.
func (n *network) nameOf(layer *ir.Layer) string {
	if name, isWritten := n.replaced[layer]; isWritten {
		return name
	}
	return layer.Name
}

// distinct changes the names of inputs and outputs that are the name of a parameter of the layer.
func distinct(layer *ir.Layer) {
	for _, list := range [][]ir.Tensor{layer.Inputs, layer.Outputs} {
		for at := range list {
			name := list[at].Name
			if isOfThePass := name == "input_"+strconv.Itoa(at) || name == "output_"+strconv.Itoa(at); !isOfThePass || !slices.Contains(layer.Parameters, name) {
				continue
			}
			for slices.Contains(layer.Parameters, list[at].Name) {
				list[at].Name += "_"
			}
		}
	}
}

// rewrite gives a node a layer and sources. The node keeps its id and its users.
func (n *network) rewrite(at *node, layer *ir.Layer, in []source) {
	if layer != at.layer {
		if !slices.Contains(n.layers, layer) {
			n.isNew[layer] = true
			n.layers = slices.Insert(n.layers, slices.Index(n.layers, at.layer)+1, layer)
		}
		at.layer = layer
		n.prepare(at)
	}
	before := at.in
	at.disconnect()
	at.read(in[:len(layer.Inputs)])
	for _, old := range before {
		old.from.release()
	}
	n.isChanged = true
}

// isUseless states whether the pass left a node without a use.
func (at *node) isUseless() bool {
	return at.hadUsers && len(at.users) == 0 && !at.isOutput && at.layer.Type != ir.InputType
}

// release disconnects a node that has no use any more, so that its sources do not count it as a user.
func (at *node) release() {
	open := []*node{at}
	for len(open) > 0 {
		at, open = open[len(open)-1], open[:len(open)-1]
		if at == nil || at.isReleased || !at.isUseless() {
			continue
		}
		at.isReleased = true
		at.disconnect()
		for _, in := range at.in {
			open = append(open, in.from)
		}
	}
}

// prepare finds the operator of a written layer. A layer that is wrong keeps the old operator: the check of
// the model reports it.
func (n *network) prepare(at *node) {
	if op, err := at.layer.Operator(n.model.Model.Operators); err == nil {
		at.operator = op
	}
}

// add adds a node before another one. Its layer stands before the layer of that node.
func (n *network) add(before *node, id string, layer *ir.Layer, in []source) *node {
	made := &node{layer: layer, position: ir.None, hadUsers: true}
	made.ID = n.unique(nodeName, id)
	n.nodes = slices.Insert(n.nodes, slices.Index(n.nodes, before), made)
	if !slices.Contains(n.layers, layer) {
		n.isNew[layer] = true
		n.layers = slices.Insert(n.layers, slices.Index(n.layers, before.layer), layer)
	}
	n.prepare(made)
	made.read(in[:len(layer.Inputs)])
	n.isChanged = true
	return made
}

// addParameter adds a parameter before another one; nil: at the end.
func (n *network) addParameter(p ir.Parameter, before *ir.Parameter) *ir.Parameter {
	p.Name = n.unique(parameterName, p.Name)
	at := slices.Index(n.parameters, before)
	if at < 0 {
		at = len(n.parameters)
	}
	n.parameters = slices.Insert(n.parameters, at, &p)
	n.isNew[&p] = true
	return &p
}
