package model

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/onnx"
	"ferrum_mem/core/passes"
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
	return err
}

// passesOfGraphs returns the passes for an engine of graphs, which optimises by itself: those of the program.
func (m *build) passesOfGraphs() ([]passes.Pass, error) {
	switch {
	case m.request.Options.EnableQuantization:
		return nil, device.Errorf(device.CodeUnsupported, opBuild, "enable_quantization: %s gets parameters as the model has them", m.backend.Name())
	case len(m.request.Passes) > 0 && m.undefined != nil:
		return nil, device.Errorf(device.CodeUnsupported, opBuild, "passes change a definition: %w", m.undefined)
	}
	return m.request.Passes, nil
}
