package model

import (
	"context"
	"io"

	"ferrum_mem/core/architecture"
	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/onnx"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/weights"
)

const opExportONNX = "model.export_onnx"

// ONNXExport states which model to write as a file of ONNX, and where. Path, Definition and Weights are those
// of a Request. Options are those of a build: they have the seed of the parameters that the weights do not
// have.
type ONNXExport struct {
	Path       string
	Definition *ir.Model
	Weights    *weights.Source
	Options    Options
	// File is the file to be written. IsExternal writes the elements into a second file beside it, and
	// Replace replaces existing files.
	File                string
	IsExternal, Replace bool
}

// ExportONNX writes a model as a file of ONNX: its definition before the passes, with the elements of its
// parameters. Errors: those of architecture.Open, onnx.Write and the rules of parameters.
func (b *Builder) ExportONNX(ctx context.Context, e ONNXExport) (err error) {
	if e.File == "" {
		return device.Errorf(device.CodeInvalidArgument, opExportONNX, "the name of the file is empty")
	}
	additional, err := e.Options.additional()
	if err != nil {
		return err
	}
	if e.Path != "" {
		made, err := architecture.Open(e.Path, architecture.Options{})
		if err != nil {
			return err
		}
		e.Definition, made.Model.Operators = made.Model, b.Operators
		if hasSources(e.Definition) {
			if e.Weights, err = weights.Open(e.Path, weights.Options{}); err != nil {
				return err
			}
			defer func() { _ = e.Weights.Close() }() // it was only read
		}
	}
	if e.Definition, err = withLayerParameters(e.Definition, e.Weights); err != nil {
		return err
	}
	_, issues := e.Definition.Check()
	if err := firstIssue(issues); err != nil {
		return err
	}
	return onnx.Write(ctx, e.File, e.Definition, onnx.WriteOptions{
		Weights: e.Weights, IsExternal: e.IsExternal, Replace: e.Replace,
		Elements: func(p *ir.Parameter, to io.Writer) error {
			if by := layerTypeOf(e.Definition.Operators, p); by != nil {
				return writeMadeByLayer(e.Definition, by, p, to)
			}
			return writeElements(p, additional.fill, to)
		},
	})
}

// writeMadeByLayer writes the elements that the layer type of a parameter makes.
func writeMadeByLayer(m *ir.Model, by *operator.Schema, p *ir.Parameter, to io.Writer) error {
	all, err := sizeOf(p)
	if err != nil {
		return err
	}
	block, err := offheap.NewBlock(int(all))
	if err != nil {
		return err
	}
	defer block.Free()
	if err := madeByLayer(m, by, p, p.Name, device.Addr(offheap.AddressOf(block.Bytes()))); err != nil {
		return err
	}
	_, err = to.Write(block.Bytes())
	return err
}

// writeElements writes the elements of a parameter that the weights do not have, as a build makes them.
func writeElements(p *ir.Parameter, options FillOptions, to io.Writer) error {
	rule, err := initializer(p, options.Seed, options.Initializers)
	if err != nil {
		return err
	}
	all, err := sizeOf(p)
	if err != nil {
		return err
	}
	each, width := p.DType.Block()
	wide := make([]byte, 8*mostMade)
	for from := uint64(0); from < all; from += mostMade / each * width {
		part := make([]byte, min(mostMade/each*width, all-from))
		if err := makeElements(p.DType, rule, from/width*each, part, wide); err != nil {
			return err
		}
		if _, err := to.Write(part); err != nil {
			return err
		}
	}
	return nil
}
