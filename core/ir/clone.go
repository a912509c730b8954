package ir

import (
	"encoding/json"
	"slices"
)

// Clone returns a copy that shares nothing with the model. A part of a parameter has no parts itself.
func (m *Model) Clone() *Model {
	c := *m
	c.Metadata.Description = copied(m.Metadata.Description)
	c.Metadata.Author = copied(m.Metadata.Author)
	c.Metadata.License = copied(m.Metadata.License)
	c.Metadata.Additional = cloneExtras(m.Metadata.Additional)
	d := &c.Architecture.Dimensions
	d.NumKVHeads, d.HeadDim, d.IntermediateSize = copied(d.NumKVHeads), copied(d.HeadDim), copied(d.IntermediateSize)
	c.Architecture.Config = cloneExtras(m.Architecture.Config)
	c.Parameters = slices.Clone(m.Parameters)
	for i := range c.Parameters {
		c.Parameters[i] = c.Parameters[i].clone()
		parts := slices.Clone(c.Parameters[i].Parts)
		for j := range parts {
			parts[j] = parts[j].clone()
		}
		c.Parameters[i].Parts = parts
	}
	c.Layers = slices.Clone(m.Layers)
	for i := range c.Layers {
		l := &c.Layers[i]
		l.Inputs, l.Outputs = cloneTensors(l.Inputs), cloneTensors(l.Outputs)
		l.Parameters, l.Config = slices.Clone(l.Parameters), cloneExtras(l.Config)
	}
	c.Graph.Inputs, c.Graph.Outputs = slices.Clone(m.Graph.Inputs), slices.Clone(m.Graph.Outputs)
	c.Graph.Nodes = slices.Clone(m.Graph.Nodes)
	for i := range c.Graph.Nodes {
		c.Graph.Nodes[i].Metadata = cloneExtras(c.Graph.Nodes[i].Metadata)
	}
	c.Graph.Edges = slices.Clone(m.Graph.Edges)
	for i := range c.Graph.Edges {
		e := &c.Graph.Edges[i]
		e.SourceOutput, e.TargetInput = copied(e.SourceOutput), copied(e.TargetInput)
	}
	return &c
}

// clone returns a copy that shares the Parts only.
func (p Parameter) clone() Parameter {
	p.Shape, p.Value, p.Metadata = slices.Clone(p.Shape), slices.Clone(p.Value), cloneExtras(p.Metadata)
	return p
}

func copied[T any](value *T) *T {
	if value == nil {
		return nil
	}
	v := *value
	return &v
}

func cloneTensors(tensors []Tensor) []Tensor {
	tensors = slices.Clone(tensors)
	for i := range tensors {
		tensors[i].Shape = slices.Clone(tensors[i].Shape)
	}
	return tensors
}

func cloneExtras(extras map[string]json.RawMessage) map[string]json.RawMessage {
	if extras == nil {
		return nil
	}
	c := make(map[string]json.RawMessage, len(extras))
	for key, raw := range extras {
		c[key] = slices.Clone(raw)
	}
	return c
}
