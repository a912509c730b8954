package model

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/onnx"
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
	if m.settings.Definition, err = file.Definition(); errors.Is(err, device.CodeUnsupported) {
		m.settings.undefined = err
		m.settings.Definition = &ir.Model{Metadata: ir.Metadata{Name: file.Name, ModelType: "onnx"}}
		return nil
	}
	if err == nil {
		m.settings.Definition.Operators = m.builder.Operators
	}
	return err
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
