package library

import (
	"context"

	"ferrum_mem/core/model"
)

// The export of models as files of ONNX.

// Flags of an export: FERRUM_ONNX_*.
const (
	// ExportExternal writes the elements into a second file.
	ExportExternal = 1 << 0
	// ExportReplace replaces existing files.
	ExportReplace = 1 << 1
)

// ExportONNX writes the model of a folder or a file as a file of ONNX. Errors: those of
// model.Builder.ExportONNX.
func (x *Executors) ExportONNX(path, file string, flags uint32) error {
	const op = "model.export_onnx"
	if err := x.startedFor(op, path); err != nil {
		return err
	}
	return x.export(op, ExportRequest{Path: path}, model.DefaultOptions(), file, flags)
}

// ExportDefinitionONNX is ExportONNX for a definition, with the handle of its weights, or 0.
func (x *Executors) ExportDefinitionONNX(definition []byte, weights uint64, file string, flags uint32) error {
	const op = "definition.export_onnx"
	if _, err := x.library.started(op); err != nil {
		return err
	}
	return x.export(op, ExportRequest{Definition: definition, Weights: weights}, model.DefaultOptions(), file, flags)
}

// ExportOnnx writes the model of the executor, from the files or the weights of which it was built. Errors:
// those of Executors.ExportONNX; CodeInvalidHandle if the weights were closed.
func (e *Executor) ExportOnnx(file string, flags uint32) error {
	return e.library.Executors.export("executor.export_onnx", e.built.from, e.built.options, file, flags)
}

func (x *Executors) export(op string, from ExportRequest, options model.Options, file string, flags uint32) (err error) {
	e := model.ONNXExport{Path: from.Path, Options: options, File: file, IsExternal: flags&ExportExternal != 0, Replace: flags&ExportReplace != 0}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if from.Weights != 0 {
		w, err := x.library.Loader.Weights(op, from.Weights)
		if err != nil {
			return err
		}
		end, err := w.begin(&reading{what: "an export", cancel: cancel})
		if err != nil {
			return err
		}
		defer end()
		e.Weights = w.source.Source
	}
	if from.Path == "" {
		if e.Definition, err = x.parsed(from.Definition); err != nil {
			return err
		}
	}
	return x.builder.ExportONNX(ctx, e)
}
