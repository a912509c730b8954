package model

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/onnx"
	"ferrum_mem/core/operator"
)

// What a build does otherwise for an engine of graphs.

// openFile opens a file of ONNX for an engine of graphs, which also runs operators that a definition does not
// have.
func (m *build) openFile() error {
	file, err := onnx.Open(m.request.Path)
	if err != nil {
		return err
	}
	m.opened = file.Source
	m.settings.file, m.settings.Weights = file, file.Source
	m.settings.Definition, err = file.Definition()
	if err == nil {
		err = m.checkOperators(file.Source.Name)
	}
	if errors.Is(err, device.CodeUnsupported) {
		for i := range file.Nodes {
			n := &file.Nodes[i]
			if m.builder.Operators != nil && m.builder.Operators.Find(n.Domain, n.Type) != nil {
				return device.Errorf(device.CodeUnsupported, opBuild, "%s: %.120s is a layer of the program, which runs only in a model with a definition: %w",
					file.Source.Name, operator.FullName(n.Domain, n.Type), err)
			}
		}
		m.settings.undefined = err
		m.settings.Definition = &ir.Model{Metadata: ir.Metadata{Name: file.Name, ModelType: "onnx"}}
		return nil
	}
	if err == nil {
		m.settings.Definition.Operators = m.builder.Operators
	}
	return err
}

// checkOperators returns CodeUnsupported for a layer of another domain that is none of the program. A definition from
// a file has such layers if the file states the types of their outputs.
func (m *build) checkOperators(file string) error {
	for i := range m.settings.Definition.Layers {
		l := &m.settings.Definition.Layers[i]
		domain, name := operator.SplitName(l.Type)
		isKnown := domain == operator.ONNX || domain == operator.Ferrum || m.builder.Operators != nil && m.builder.Operators.Find(domain, name) != nil
		if !isKnown {
			return device.Errorf(device.CodeUnsupported, opBuild, "%s: the operator %.120s is not computed by the library: an engine of ONNX Runtime is needed", file, l.Type)
		}
	}
	return nil
}

// isOfGraphs states that an engine of graphs computes the model.
func (m *build) isOfGraphs() bool {
	return m.request.Backend != nil && m.request.Backend.RunsGraphs()
}

// checkPassesOfGraphs rejects passes that an engine of graphs cannot have. It optimises by itself, and runs no
// pass but those that the options name.
func (m *build) checkPassesOfGraphs() error {
	switch {
	case m.request.Options.EnableQuantization:
		return device.Errorf(device.CodeUnsupported, opBuild, "enable_quantization: %s gets parameters as the model has them", m.request.Backend.Name())
	case len(m.request.Options.Passes) > 0 && m.settings.undefined != nil:
		return device.Errorf(device.CodeUnsupported, opBuild, "passes change a definition: %w", m.settings.undefined)
	}
	return nil
}
