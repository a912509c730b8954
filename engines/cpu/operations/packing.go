package operations

import (
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/strided"
	"ferrum_mem/engines/cpu"
)

func isBlock(t dtype.DType) bool { return t == cpu.Q8Zero || t == cpu.Q4Zero }

// isPackable states whether matrices of a type have a packed layout.
func isPackable(t dtype.DType) bool {
	return t == dtype.F32 || t == dtype.F16 || t == dtype.BF16 || isBlock(t)
}

// sumsOverLast states whether the product sums over the last dimension of its right matrix. isRight
// is false for an operator or an input that has no right matrix.
func sumsOverLast(o *operator.Operator, input int) (isLast, isRight bool) {
	if input != 1 {
		return false, false
	}
	switch o.FullName() {
	case "MatMul":
		return false, true
	case "Gemm":
		return o.Int("transB") == 1, true
	case "ferrum.linear", "ferrum.quantized_linear":
		return true, true
	}
	return false, false
}

// packing names the layout of a packed input.
func (e *Engine) packing(isLast bool) string {
	name := "cpu/" + e.cpu.Instructions() + "/" + version
	if isLast {
		return name + "/sum over the last dimension"
	}
	return name
}

// checkPacking checks that each packed input has the layout that the product reads. Errors:
// CodeUnsupported.
func (l *lowering) checkPacking() error {
	for i, in := range l.inputs {
		if in.packing == "" {
			continue
		}
		isLast, isRight := sumsOverLast(l.op, i)
		if !isRight || !isPackable(in.kind) {
			return unsupported("input %d is packed, and must not be", i)
		}
		if wanted := l.engine.packing(isLast); in.packing != wanted {
			return unsupported("input %d is packed as %q: expected %q", i, in.packing, wanted)
		}
	}
	return nil
}

// sizes returns the rows, columns and matrices of a right matrix of some shape.
func sizes(shape []int64, isLast bool) (k, n int64, lead []int64) {
	if len(shape) == 1 {
		return shape[0], 1, nil
	}
	last := len(shape) - 1
	k, n = shape[last-1], shape[last]
	if isLast {
		k, n = n, k
	}
	return k, n, shape[:last-1]
}

// right returns input 1 of a product as a matrix. One that is packed has strides in bytes; it is
// seen through its shape, so transposing it has no effect.
func (l *lowering) right(b operand, batch []int64) matrix {
	if b.packing == "" {
		return matrixOf(b, batch)
	}
	isLast, _ := sumsOverLast(l.op, 1)
	k, n, lead := sizes(b.shape, isLast)
	bytes, err := l.engine.cpu.PackedBytes(b.kind, n, k)
	if err != nil {
		bytes = 0 // Pack has refused this shape
	}
	strides := strided.RowMajor(lead)
	for i := range strides {
		strides[i] *= bytes
	}
	return matrix{operand: b, batch: b.view(lead, strides).expand(batch).strides}
}

// packBlocks packs a matrix of blocks into the workspace, because products read no others. The
// general product, which F64 has, reads blocks.
func (l *lowering) packBlocks(p *product) error {
	b := p.b
	if !isBlock(b.kind) || b.packing != "" || p.a.kind == dtype.F64 {
		return nil
	}
	if !b.isContiguous() {
		return unsupported("weights of %v with gaps", b.kind)
	}
	bytes, err := l.engine.cpu.PackedBytes(b.kind, p.n, p.k)
	if err != nil {
		return err
	}
	made, err := l.reserve(bytes, b.kind, b.shape)
	if err != nil {
		return err
	}
	l.add(&cpu.Pack{N: p.n, K: p.k, B: b.place(), BType: b.cpuType(), Packed: made.place()})
	made.packing = l.engine.packing(true)
	p.b = matrix{operand: made, batch: make([]int64, len(p.batch))}
	return nil
}

// Pack describes the packed layout of the right matrix of a product. Errors: CodeUnsupported for an
// operator, an input or a type without one; CodeOverflow.
func (e *Engine) Pack(o *operator.Operator, input int, from compute.Operand) (compute.Packed, error) {
	isLast, isRight := sumsOverLast(o, input)
	in := newOperand(ofInput, 0, &from)
	switch {
	case !isRight || !in.isPresent():
		return compute.Packed{}, device.Errorf(device.CodeUnsupported, opPack, "input %d of %s has no packed layout", input, o.FullName())
	case !isPackable(in.kind) || in.packing != "":
		return compute.Packed{}, device.Errorf(device.CodeUnsupported, opPack, "%s: a matrix of %v has no packed layout", o.FullName(), in.kind)
	case isBlock(in.kind) && !in.isContiguous():
		return compute.Packed{}, device.Errorf(device.CodeUnsupported, opPack, "%s: weights of %v with gaps have no packed layout", o.FullName(), in.kind)
	}
	program, size, err := e.packAll(in, isLast)
	if err != nil {
		return compute.Packed{}, err
	}
	return compute.Packed{
		Packing: e.packing(isLast), SizeBytes: size,
		Write: func(from, to device.Addr) error {
			return program.Run(&cpu.Operands{Inputs: []device.Addr{from}, Outputs: []device.Addr{to}})
		},
	}, nil
}

// packAll returns the program that packs each matrix of a stack.
func (e *Engine) packAll(in operand, isLast bool) (*cpu.Program, uint64, error) {
	k, n, lead := sizes(in.shape, isLast)
	each, err := e.cpu.PackedBytes(in.kind, n, k)
	if err != nil {
		return nil, 0, err
	}
	matrices := in.view(lead, in.strides[:len(lead)])
	count := matrices.elements()
	if each > 0 && count > cpu.MaxDistance/each {
		return nil, 0, device.Errorf(device.CodeOverflow, opPack, "%d matrices of %v each are too large to pack", count, device.Size(each))
	}
	var row, column int64
	switch last := len(in.shape) - 1; {
	case last == 0:
		row = in.strides[0]
	case isLast:
		row, column = in.strides[last], in.strides[last-1]
	default:
		row, column = in.strides[last-1], in.strides[last]
	}
	requests := make([]cpu.Request, count)
	for i := range requests {
		at, rest := in, int64(i)
		for axis := len(lead) - 1; axis >= 0; axis-- {
			at = at.moved(rest % lead[axis] * in.strides[axis])
			rest /= lead[axis]
		}
		requests[i] = &cpu.Pack{
			N: n, K: k, B: at.place(), BType: in.cpuType(), BRow: row, BColumn: column, Packed: cpu.OutputAt(0, int64(i)*each),
		}
	}
	program, err := e.cpu.Compile(requests, 0)
	return program, uint64(count * each), err
}
