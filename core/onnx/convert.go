package onnx

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/weights"
)

// Definition returns the definition of the model, with operators of opset 25. The sources of its parameters
// are the names of tensors in Source. Dynamic dimensions of the inputs keep their names. What depends on the
// lengths of a run only, such as the shape of a Reshape, is computed for every length.
//
// Errors: CodeUnsupported for an operator, a type or a shape that a definition cannot have, with the node and
// the operator; CodeInvalidFormat for a node that breaks the rules of its operator.
func (f *File) Definition() (*ir.Model, error) {
	c := &converter{
		File: f, m: &ir.Model{}, values: map[string]*value{}, ids: map[string]bool{}, layers: map[string]bool{}, parameters: map[string]bool{},
		stated: map[string]*Value{}, positions: map[string]*value{}, isRead: map[string]bool{}, isOutput: map[string]bool{},
	}
	if err := c.describe(); err != nil {
		return nil, err
	}
	for i := range f.Values {
		c.stated[f.Values[i].Name] = &f.Values[i]
	}
	for i := range f.Outputs {
		c.stated[f.Outputs[i].Name] = &f.Outputs[i]
		c.isOutput[f.Outputs[i].Name], c.isRead[f.Outputs[i].Name] = true, true
		c.ids[f.Outputs[i].Name] = true
	}
	for i := range f.Nodes {
		for _, name := range f.Nodes[i].Inputs {
			c.isRead[name] = true
		}
	}
	if err := c.inputs(); err != nil {
		return nil, err
	}
	for i := range f.Source.Tensors() {
		if err := c.tensor(&f.Source.Tensors()[i]); err != nil {
			return nil, err
		}
	}
	for i := range f.Nodes {
		c.node = &f.Nodes[i]
		if err := c.convert(); err != nil {
			return nil, err
		}
	}
	c.node = nil
	for i := range f.Outputs {
		if err := c.output(f.Outputs[i].Name); err != nil {
			return nil, err
		}
	}
	return c.m, nil
}

// describe fills in the metadata and the dimensions, which a file of this package has. Other files state
// neither: their models have no maximum length of a sequence.
func (c *converter) describe() error {
	base := filepath.Base(c.Source.Input().Name)
	c.m.Metadata = ir.Metadata{Name: strings.ToValidUTF8(strings.TrimSuffix(base, filepath.Ext(base)), "\uFFFD"), ModelType: "onnx", Family: ir.FamilyCustom}
	c.m.Architecture.Name = "onnx"
	texts := map[string]string{}
	for _, e := range c.Metadata {
		texts[e.Key] = e.Value
	}
	if metadata, isThere := texts[metadataKey]; isThere {
		// The text is read as a part of a definition, with its checks.
		read, err := ir.Parse([]byte(`{"metadata":` + metadata + `,"architecture":` + texts[architectureKey] +
			`,"parameters":[],"layers":[],"graph":{"inputs":[],"outputs":[],"nodes":[],"edges":[]}}`))
		if err != nil {
			return device.Errorf(device.CodeInvalidFormat, opConvert, "%s: the metadata %s and %s are not those of a definition: %w", c.Source.Name, metadataKey, architectureKey, err)
		}
		c.m.Metadata, c.m.Architecture = read.Metadata, read.Architecture
	}
	for _, key := range []string{metadataKey, architectureKey, defaultsKey} {
		delete(texts, key)
	}
	if c.m.Metadata.Description == nil && c.Description != "" {
		c.m.Metadata.Description = &c.File.Description
	}
	if c.m.Metadata.Version == "" && c.ModelVersion != 0 {
		c.m.Metadata.Version = fmt.Sprint(c.ModelVersion)
	}
	about := map[string]any{"opset": c.Opset(operator.ONNX), "ir_version": c.IRVersion, "producer": c.Producer}
	if len(texts) > 0 {
		about["metadata"] = texts
	}
	raw, err := json.Marshal(about)
	if err != nil {
		return device.Errorf(device.CodeSerialization, opConvert, "%s: %w", c.Source.Name, err)
	}
	c.m.Metadata.Additional = maps.Clone(c.m.Metadata.Additional)
	if c.m.Metadata.Additional == nil {
		c.m.Metadata.Additional = map[string]json.RawMessage{}
	}
	c.m.Metadata.Additional["onnx"] = raw
	return nil
}

// inputs adds the inputs of the graph.
func (c *converter) inputs() error {
	defaults := map[string]ir.Default{}
	for _, e := range c.Metadata {
		if e.Key == defaultsKey {
			if err := json.Unmarshal([]byte(e.Value), &defaults); err != nil {
				return device.Errorf(device.CodeInvalidFormat, opConvert, "%s: the metadata %s are not an object of texts", c.Source.Name, defaultsKey)
			}
		}
	}
	for i := range c.Inputs {
		in := &c.Inputs[i]
		if !in.HasShape {
			return device.Errorf(device.CodeUnsupported, opConvert, "%s: the input %.120q has no shape: an engine for ONNX is needed", c.Source.Name, in.Name)
		}
		c.input(in, defaults[in.Name])
	}
	return nil
}

// mostEager is the most elements of a list of integers that becomes a constant of the definition. A longer
// one is a parameter, unless an operator reads its elements.
const mostEager = 64

// tensor adds a tensor of the file. The elements of short lists of integers are read.
func (c *converter) tensor(t *weights.Tensor) error {
	if !c.isRead[t.Name] {
		return nil
	}
	v := &value{name: t.Name, kind: t.Type, stored: t, shape: make([]expression, len(t.Shape))}
	for i, length := range t.Shape {
		if length >= 1<<62 {
			return c.unsupported("the tensor %.120q has a dimension of %d", t.Name, length)
		}
		v.shape[i] = constantOf(int64(length))
	}
	c.values[t.Name] = v
	if !isInteger(t.Type) || t.Elements > mostEager {
		return nil
	}
	return c.readKnown(v)
}

// convert converts a node.
func (c *converter) convert() error {
	n := c.node
	if n.isConstant() {
		if c.values[n.Outputs[0]] == nil && c.isRead[n.Outputs[0]] {
			return c.unsupported("its value is no tensor of numbers")
		}
		return nil
	}
	if !slices.ContainsFunc(n.Outputs, func(name string) bool { return c.isRead[name] }) {
		return nil
	}
	in := make([]*value, len(n.Inputs))
	for i, name := range n.Inputs {
		if name == "" {
			continue
		}
		if in[i] = c.values[name]; in[i] == nil {
			return c.unsupported("the value %.120q is not supported as an input", name)
		}
	}
	if n.Domain != operator.ONNX && n.Domain != operator.Ferrum {
		return c.custom(in)
	}
	if n.Domain == operator.ONNX {
		if known := c.evaluate(n, in); known != nil && len(n.Outputs) == 1 {
			known.name = n.Outputs[0]
			c.values[known.name] = known
			return nil
		}
		if isDone, err := c.special(in); isDone || err != nil {
			return err
		}
		if isDone, err := c.rowwise(in); isDone || err != nil {
			return err
		}
	}
	return c.ordinary(in)
}

// output makes a value an output of the definition: the first output of a node that has its name.
func (c *converter) output(name string) error {
	v := c.values[name]
	if v == nil {
		return c.unsupported("the output %.120q is not supported", name)
	}
	if err := c.realise(v); err != nil {
		return err
	}
	if v.node != name || v.output != 0 || slices.Contains(c.m.Graph.Inputs, name) {
		if slices.Contains(c.m.Graph.Inputs, name) {
			return c.unsupported("the output %.120q is also an input", name)
		}
		if _, err := c.add(use{id: name, kind: "Cast", config: map[string]json.RawMessage{"to": raw(v.kind.String())}}, []*value{v}, []*value{{name: name, kind: v.kind, shape: v.shape}}); err != nil {
			return err
		}
	}
	c.m.Graph.Outputs = append(c.m.Graph.Outputs, name)
	return nil
}
