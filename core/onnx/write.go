package onnx

import (
	"bytes"
	"context"
	"io"
	"math"
	"path/filepath"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/weights"
)

// WriteOptions are the settings of Write.
type WriteOptions struct {
	// Weights has the tensors of the parameters; nil: all parameters are made.
	Weights *weights.Source
	// Elements writes the elements of a parameter that the weights do not have, in the order of its shape.
	// nil: such a parameter is an error.
	Elements func(p *ir.Parameter, to io.Writer) error
	// IsExternal writes the elements into a second file beside the model. Its name is that of the model
	// with the ending .data.
	IsExternal bool
	// InsideBytes is the most bytes of elements that the model itself has. A model with more has the second
	// file too. 0: MaxInsideBytes.
	InsideBytes uint64
	// Replace states that files of these names may be replaced.
	Replace bool
	// Progress is called with the number of bytes of tensors that are written; nil: it is not reported.
	Progress func(weights.Progress)
}

const (
	// MaxInsideBytes is the largest file that protocol buffers allow, less room for what is not a tensor.
	MaxInsideBytes = math.MaxInt32 - 16<<20
	// DataEnding is the ending of the file with the elements.
	DataEnding = ".data"
	// dataAlignment is the alignment of tensors in that file, so that they can be mapped.
	dataAlignment = 4096
)

// Write writes the model of a definition with the elements of its parameters. Either all files exist at the
// end, or none does. Errors: those of FromDefinition and weights.Source.Convert; CodeInvalidArgument for a
// parameter whose elements are nowhere.
func Write(ctx context.Context, path string, m *ir.Model, o WriteOptions) error {
	d, err := documentOf(m, forFile)
	if err != nil {
		return err
	}
	inside := uint64(0)
	for i := range d.tensors {
		inside += d.tensors[i].SizeBytes
	}
	most := uint64(MaxInsideBytes)
	if o.InsideBytes != 0 {
		most = min(most, o.InsideBytes)
	}
	isExternal := o.IsExternal || inside > most
	places, end := make([]place, len(d.tensors)), uint64(0)
	data := weights.Composed{Path: path + DataEnding}
	for i := range d.tensors {
		t := &d.tensors[i]
		if !isExternal || t.elements != nil || t.SizeBytes == 0 {
			continue
		}
		at := (end + dataAlignment - 1) / dataAlignment * dataAlignment
		part, err := o.part(t, make([]byte, at-end))
		if err != nil {
			return err
		}
		data.Parts = append(data.Parts, part)
		places[i] = place{filepath.Base(data.Path), at}
		end = at + t.SizeBytes
	}
	model := weights.Composed{Path: path}
	for _, p := range d.pieces(func(at int) place { return places[at] }) {
		part := weights.Part{Before: p.before}
		if p.tensor >= 0 {
			if part, err = o.part(&d.tensors[p.tensor], p.before); err != nil {
				return err
			}
		}
		model.Parts = append(model.Parts, part)
	}
	files := []weights.Composed{model}
	if len(data.Parts) > 0 {
		// The model gets its name last: it names the other file.
		files = []weights.Composed{data, model}
	}
	return o.Weights.Compose(ctx, files, weights.ConvertOptions{Replace: o.Replace, Progress: o.Progress})
}

// part returns the part of a file with the elements of a tensor.
func (o *WriteOptions) part(t *tensor, before []byte) (weights.Part, error) {
	part := weights.Part{Before: before, SizeBytes: t.SizeBytes}
	switch {
	case t.Spec.Tensor != "" && o.Weights != nil:
		part.Spec = &t.Spec
	case o.Elements == nil || t.Parameter == nil:
		return weights.Part{}, device.Errorf(device.CodeInvalidArgument, opExport, "the parameter %.120q: the weights do not have it", t.Name)
	default:
		part.Elements = func(to io.Writer) error { return t.write(o.Elements, to) }
	}
	return part, nil
}

// write writes the elements that a rule makes. Those of an exchanged matrix are collected first.
func (t *tensor) write(elements func(*ir.Parameter, io.Writer) error, to io.Writer) error {
	if !t.IsTransposed {
		return elements(t.Parameter, to)
	}
	all := &bytes.Buffer{}
	if err := elements(t.Parameter, all); err != nil {
		return err
	}
	columns, rows := t.Shape[0], t.Shape[1]
	each := uint64(all.Len())
	if columns*rows > 0 {
		each /= columns * rows
	}
	row := make([]byte, rows*each)
	for column := range columns {
		for at := range rows {
			copy(row[at*each:(at+1)*each], all.Bytes()[(at*columns+column)*each:])
		}
		if _, err := to.Write(row); err != nil {
			return err
		}
	}
	return nil
}
