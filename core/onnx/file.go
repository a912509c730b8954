package onnx

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/protobuf"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

const opOpen = "onnx.open"

// Open opens a model and checks it: bounds, names, types, the order of the nodes, and the places of all
// elements. It reads no elements.
//
// Errors: those of weights.Open; CodeInvalidFormat for a file that breaks the rules of ONNX, with the node,
// the value or the byte; CodeUnsupported for an opset outside OldestOpset to NewestOpset, a graph inside of a
// node, functions of the model, sparse and quantised tensors, and values that are not tensors.
func Open(path string) (*File, error) {
	source, err := weights.Open(path, weights.Options{Formats: []weights.Format{header.ONNX}})
	if err != nil {
		return nil, err
	}
	if source.Files() != 1 {
		_ = source.Close() // it was only read
		return nil, device.Errorf(device.CodeInvalidArgument, opOpen, "%s: has %d models: name one of the files", path, source.Files())
	}
	f, err := from(source)
	if err != nil {
		_ = source.Close() // it was only read
	}
	return f, err
}

// from reads the model of an open source.
func from(source *weights.Source) (*File, error) {
	f := &File{Source: source}
	if err := f.read(); err != nil {
		return nil, err
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.Source.Close() }

// read reads and checks the model.
func (f *File) read() error {
	in := f.Source.Input()
	r := &reader{File: f, in: in}
	r.Reader = protobuf.NewReader(protobuf.Source{Size: in.Size, Read: in.Read, Wrong: r.wrong}, 0, in.Size)
	r.model()
	if r.Err != nil {
		return r.Err
	}
	return (&checker{File: f, path: in.Name}).check()
}

// Graph returns the model as bytes without the elements of its larger initialisers. It may have any operator.
// A node of type Constant with more elements is an initialiser there. Errors: those of reading the file.
func (f *File) Graph() (*Graph, error) {
	in := f.Source.Input()
	d := &document{inputs: f.Inputs, outputs: f.Outputs}
	var failed error
	copied := func(to []byte, parts ...part) []byte {
		for _, p := range parts {
			raw, err := in.Read(p.at, p.end-p.at)
			if to = append(to, raw...); err != nil && failed == nil {
				failed = err
			}
		}
		return to
	}
	if f.IRVersion != 0 {
		// A runtime that has the operators may be older than the program that wrote the file.
		version := min(f.IRVersion, int64(irVersion(int(f.Opset(operator.ONNX)))))
		d.head = protobuf.AppendNumber(d.head, modelIRVersion, uint64(version))
	}
	d.head, d.start = copied(d.head, f.head...), copied(nil, f.graph...)
	for _, s := range f.tensors {
		t, err := f.Source.Find(s.name)
		if err != nil {
			return nil, err
		}
		made := tensor{Initializer: Initializer{
			Name: t.Name, Type: t.Type, Shape: t.Shape, SizeBytes: t.Size, Spec: weights.Spec{Name: t.Name, Shape: t.Shape},
		}}
		switch {
		case t.Size > InlineBytes:
			d.tensors = append(d.tensors, made)
		case t.External == nil:
			d.start = copied(d.start, s.part)
		default:
			if made.elements, err = f.Source.Elements(made.Spec, InlineBytes); err != nil {
				return nil, err
			}
			d.tensors = append(d.tensors, made)
		}
	}
	if failed != nil {
		return nil, failed
	}
	return d.graph(), nil
}
