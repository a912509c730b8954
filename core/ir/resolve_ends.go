package ir

import (
	"encoding/json"
	"slices"
	"strconv"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// The inputs and outputs of a model, and the metadata of inputs.

// inputs resolves Graph.Inputs.
func (r *resolver) inputs() {
	g := &r.model.Graph
	listed := make(map[int]bool, len(g.Inputs))
	for i, id := range g.Inputs {
		path := elementPath("graph.inputs", i)
		at, known := r.end(id, path)
		switch {
		case !known:
		case listed[at]:
			r.fault(CategoryGraph, path, "the input %s is listed twice", quoted(id)).suggest("remove one of them")
		default:
			listed[at] = true
			if l := r.graph.Nodes[at].Layer; l != None && r.model.Layers[l].Type != InputType {
				r.fault(CategoryGraph, path, "the input %s has a layer of type %s", quoted(id), quoted(r.model.Layers[l].Type)).
					suggest("use a node whose layer has the type %s", InputType)
				continue
			}
			r.graph.Inputs = append(r.graph.Inputs, r.input(at))
		}
	}
	for at := range g.Nodes {
		if l := r.graph.Nodes[at].Layer; l != None && r.model.Layers[l].Type == InputType && !listed[at] {
			r.fault(CategoryGraph, elementPath("graph.nodes", at), "the node %s is an input and not in the list of inputs", quoted(g.Nodes[at].ID)).
				suggest("add %s to graph.inputs", quoted(g.Nodes[at].ID))
		}
	}
}

// input reads the metadata of an input.
func (r *resolver) input(at int) Input {
	in := Input{Node: at}
	layer := r.graph.Nodes[at].Layer
	if layer == None || len(r.model.Layers[layer].Outputs) != 1 {
		r.isBroken[at] = true
		return in
	}
	n, t := &r.model.Graph.Nodes[at], &r.model.Layers[layer].Outputs[0]
	path := elementPath("graph.nodes", at) + ".metadata."
	in.Dims = make([]string, len(t.Shape))
	if raw, isGiven := n.Metadata[MetadataDims]; isGiven {
		dims, areTexts := textsOf(raw)
		if !areTexts || len(dims) != len(t.Shape) {
			r.isBroken[at] = true
			r.fault(CategoryGraph, path+MetadataDims, "the names of the dimensions of %s are %s: expected a list of %s", quoted(n.ID), printable(short(string(raw))), device.Count(len(t.Shape), "text"))
		} else {
			in.Dims = dims
		}
	}
	for i, length := range t.Shape {
		if length == Dynamic && in.Dims[i] == "" {
			in.Dims[i] = n.ID + "." + strconv.Itoa(i)
		}
	}
	if raw, isGiven := n.Metadata[MetadataDefault]; isGiven {
		in.Default = r.inputDefault(path+MetadataDefault, n.ID, raw, t.DType)
	}
	return in
}

// textsOf reads a list of texts. Unlike package json it does not read null as a text.
func textsOf(raw json.RawMessage) (texts []string, areTexts bool) {
	var list []any
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return nil, false
	}
	texts = make([]string, len(list))
	for i, value := range list {
		if texts[i], areTexts = value.(string); !areTexts {
			return nil, false
		}
	}
	return texts, true
}

// inputDefault reads the rule for an input that a run does not give.
func (r *resolver) inputDefault(path, id string, raw json.RawMessage, t dtype.DType) Default {
	var rule Default
	rules := []string{string(DefaultZeros), string(DefaultOnes), string(DefaultPositions)}
	if err := json.Unmarshal(raw, &rule); err != nil || !slices.Contains(rules, string(rule)) {
		i := r.fault(CategoryGraph, path, "the rule for the input %s is %s: the rules are zeros, ones and positions", quoted(id), printable(short(string(raw))))
		r.nearest(i, string(rule), rules)
		return ""
	}
	isNumber := t.IsConvertible() && t != dtype.Bool
	if rule == DefaultPositions && !isNumber {
		r.fault(CategoryGraph, path, "the input %s has the type %s: it cannot have positions", quoted(id), t)
		return ""
	}
	return rule
}

// outputs resolves Graph.Outputs.
func (r *resolver) outputs() {
	g := &r.model.Graph
	listed := make(map[int]bool, len(g.Outputs))
	if len(g.Outputs) == 0 {
		r.report(Critical, CategoryGraph, "graph.outputs", "the model has no output").suggest("list the ids of the nodes whose first output is a result")
	}
	for i, id := range g.Outputs {
		path := elementPath("graph.outputs", i)
		at, known := r.end(id, path)
		switch {
		case !known:
			continue
		case listed[at]:
			r.fault(CategoryGraph, path, "the output %s is listed twice", quoted(id)).suggest("remove one of them")
			continue
		}
		listed[at] = true
		if l := r.graph.Nodes[at].Layer; l != None {
			if outputs := r.model.Layers[l].Outputs; len(outputs) == 0 || outputs[0].Name == "" {
				r.fault(CategoryGraph, path, "the node %s does not compute its first output", quoted(id))
				continue
			}
		}
		r.graph.Outputs = append(r.graph.Outputs, at)
	}
}
