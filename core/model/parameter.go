package model

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/weights"
)

// A parameter has one form in memory. It is packed if each of its uses reads the same packed layout of
// it. Otherwise it is as the definition states, and every use reads that. Parameters of the same elements
// in the same form share their memory.

// hasSources states whether the weights have a parameter of a definition.
func hasSources(m *ir.Model) bool {
	return slices.ContainsFunc(m.Parameters, func(p ir.Parameter) bool { return p.Source != "" })
}

// use is an input of a node.
type use struct{ node, input int }

// parameter is a parameter of a program.
type parameter struct {
	spec   *ir.Parameter
	number int
	uses   []use
	layout strided.Layout
	// origin states where the elements come from.
	origin origin

	// packing names the packed layout; "": the parameter is not packed. op packs its input for it.
	packing string
	op      *backend.Op
	input   int
	// plainBytes is the size as the definition states, sizeBytes the size of the form in memory, and
	// offset its place in the segment of the parameters.
	plainBytes, sizeBytes, offset uint64
	// same is the parameter with the same elements in the same form; nil: this one is the first.
	same *parameter
	// tensor is nil until the parameter is in memory.
	tensor *tensor.Tensor
}

// origin is where the elements of a parameter come from: pieces that follow each other in memory.
type origin struct {
	pieces []piece
	// key is the same for parameters with the same elements; "": the elements are the parameter's own.
	key string
}

// piece is a part of a parameter along its first dimension, or the whole.
type piece struct {
	spec *ir.Parameter
	// tensor is the tensor of the weights; nil: the elements are a constant or made by a rule.
	tensor *weights.Tensor
	// sizeBytes is the size in the type of the parameter.
	sizeBytes uint64
}

// operand describes the parameter for the engine.
func (p *parameter) operand() compute.Operand {
	return compute.Operand{Type: p.spec.DType, Layout: p.layout, Packing: p.packing, Known: p.spec.Value}
}

// chooseForms describes each parameter in memory. Errors: CodeModel for a shape or a type that a tensor
// cannot have; those of the engine.
func (p *program) chooseForms(isPacked bool) error {
	seen := map[string]*parameter{}
	for _, of := range p.parameters {
		var err error
		if of.layout, err = strided.Contiguous(of.spec.Shape...); err != nil {
			return device.Errorf(device.CodeModel, opCompile, "parameter %q: %w", of.spec.Name, err)
		}
		if of.plainBytes, err = of.spec.DType.Size(uint64(of.layout.Elements())); err != nil {
			return device.Errorf(device.CodeModel, opCompile, "parameter %q: %w", of.spec.Name, err)
		}
		of.sizeBytes = of.plainBytes
		if isPacked && of.spec.Value == nil {
			if err := p.choosePacking(of); err != nil {
				return device.Errorf(device.CodeOf(err), opCompile, "parameter %q: %w", of.spec.Name, err)
			}
		}
		if of.origin.key == "" {
			continue
		}
		key := of.origin.key + "\x00" + of.spec.DType.String() + "\x00" + of.packing
		if of.packing == "" {
			key += strided.Text(of.spec.Shape)
		}
		if other := seen[key]; other != nil {
			of.same = other
		} else {
			seen[key] = of
		}
	}
	return nil
}

// choosePacking decides whether a parameter is packed.
func (p *program) choosePacking(of *parameter) error {
	for i, u := range of.uses {
		op := p.nodes[u.node].op
		packing, size, err := op.PredictPack(u.input, compute.Operand{Type: of.spec.DType, Layout: of.layout})
		if err != nil && !errors.Is(err, device.CodeUnsupported) {
			return err
		}
		if err != nil || size == 0 || i > 0 && !(packing == of.packing && size == of.sizeBytes) {
			of.packing, of.op, of.sizeBytes = "", nil, of.plainBytes
			return nil
		}
		of.packing, of.op, of.input, of.sizeBytes = packing, op, u.input, size
	}
	return nil
}

// findOrigins finds the tensors of the parameters in the weights; nil: there are none, and all parameters
// are initialised. Errors: CodeNotFound for a tensor; CodeModel for one of another shape, and for a type
// that is not converted.
func (p *program) findOrigins(source *weights.Source) error {
	for _, of := range p.parameters {
		made, err := originOf(of.spec, source)
		if err != nil {
			return device.Errorf(device.CodeOf(err), opCompile, "parameter %q: %w", of.spec.Name, err)
		}
		of.origin = made
	}
	return nil
}

// originOf finds the tensors of a parameter and checks them.
func originOf(spec *ir.Parameter, source *weights.Source) (origin, error) {
	made, isStored := origin{}, true
	for _, of := range piecesOf(spec) {
		size, err := sizeOf(of)
		if err != nil {
			return origin{}, err
		}
		one := piece{spec: of, sizeBytes: size}
		if of.Source != "" && source != nil {
			if one.tensor, err = source.Find(of.Source); err == nil {
				err = checkTensor(of, one.tensor)
			}
			if err != nil {
				return origin{}, err
			}
			made.key += "\x00" + tie(one.tensor)
		} else {
			isStored = false
		}
		made.pieces = append(made.pieces, one)
	}
	if !isStored {
		made.key = ""
	}
	return made, nil
}

// piecesOf returns the parts of a parameter, or the whole.
func piecesOf(spec *ir.Parameter) []*ir.Parameter {
	if len(spec.Parts) == 0 {
		return []*ir.Parameter{spec}
	}
	list := make([]*ir.Parameter, len(spec.Parts))
	for i := range spec.Parts {
		list[i] = &spec.Parts[i]
	}
	return list
}

// sizeOf returns the size of a parameter as the definition states.
func sizeOf(spec *ir.Parameter) (uint64, error) {
	layout, err := strided.Contiguous(spec.Shape...)
	if err != nil {
		return 0, device.Errorf(device.CodeModel, opCompile, "%w", err)
	}
	size, err := spec.DType.Size(uint64(layout.Elements()))
	if err != nil {
		return 0, device.Errorf(device.CodeModel, opCompile, "%w", err)
	}
	return size, nil
}

// checkTensor compares a tensor with the definition.
func checkTensor(spec *ir.Parameter, found *weights.Tensor) error {
	isSame := slices.EqualFunc(found.Shape, spec.Shape, func(a uint64, b int64) bool { return b >= 0 && a == uint64(b) })
	if !isSame {
		return device.Errorf(device.CodeModel, opCompile, "tensor %q has the shape %s, and the definition %s", found.Name, strided.Text(found.Shape), strided.Text(spec.Shape))
	}
	isMade := spec.DType.IsConvertible() || spec.DType.CanQuantise()
	if found.Type != spec.DType && !(isMade && (found.Type.IsConvertible() || found.Type.CanDequantise())) {
		return device.Errorf(device.CodeModel, opCompile, "tensor %q is of type %s, which is not converted to %s", found.Name, found.Type, spec.DType)
	}
	return nil
}

// load returns what to load of a piece into memory at an address. name is unique in the load.
func (of *piece) load(name string, memory weights.Memory, to device.Addr) weights.Spec {
	made := weights.Spec{
		Name: name, Tensor: of.tensor.Name, Shape: of.tensor.Shape, Type: &of.spec.DType, Memory: memory,
		Into: &weights.Range{Addr: to, SizeBytes: of.sizeBytes},
	}
	if of.tensor.Type != of.spec.DType {
		made.Transformations = []weights.Transformation{{Kind: weights.Cast, Type: of.spec.DType}}
	}
	return made
}

// place gives each parameter its place in the segment, in the order of the files, and returns the size of
// the segment.
func (p *program) place() uint64 {
	order := slices.Clone(p.parameters)
	slices.SortStableFunc(order, func(a, b *parameter) int { return cmp.Compare(a.origin.start(), b.origin.start()) })
	size := uint64(0)
	for _, of := range order {
		if of.same == nil {
			of.offset = size
			size += up(max(of.sizeBytes, 1), alignmentBytes)
		}
	}
	return size
}

// start returns where the first tensor begins in its file.
func (o *origin) start() uint64 {
	for i := range o.pieces {
		if o.pieces[i].tensor != nil {
			return o.pieces[i].tensor.Offset
		}
	}
	return 0
}

// tie is equal for two tensors with the same elements in the files.
func tie(of *weights.Tensor) string {
	skip := uint64(0)
	if of.Compressed != nil {
		skip = of.Compressed.Skip
	}
	return fmt.Sprint(of.File(), of.Offset, of.Size, skip, of.Type, of.Shape, of.Strides, of.IsBigEndian)
}
