//go:build cgo && (amd64 || arm64) && linux

package operations

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/operator/reference"
	"ferrum_mem/core/strided"
	"ferrum_mem/engines/cpu"
)

// pattern is how the elements of an operand lie.
type pattern string

const (
	inOrder    pattern = "contiguous"
	transposed pattern = "transposed"
	sliced     pattern = "sliced"
	reversed   pattern = "reversed"
	repeated   pattern = "broadcast" // of inputs
)

var (
	inputPatterns  = []pattern{inOrder, transposed, sliced, reversed, repeated}
	outputPatterns = []pattern{inOrder, transposed, sliced}
)

// untouched is what memory beside the elements of an output holds.
const untouched = 0xA5

// margin is how many bytes are before and after the elements.
const margin = 64

// argument is an input: elements, and their bytes for a type of blocks.
type argument struct {
	*reference.Tensor
	raw []byte
}

// placed is a tensor in memory.
type placed struct {
	kind   dtype.DType
	layout strided.Layout
	first  int64 // the element at index 0
	memory []byte
}

func isNibble(t dtype.DType) bool {
	each, _ := t.Block()
	return each == 2
}

// lay returns the strides of a pattern, the element at index 0, and how many elements are reached.
func lay(shape []int64, p pattern) (strides []int64, first, reach int64) {
	strides = make([]int64, len(shape))
	order := make([]int, len(shape))
	for i := range order {
		order[i] = len(shape) - 1 - i
		if p == transposed {
			order[i] = i
		}
	}
	step := int64(1)
	if p == sliced {
		step = 2
	}
	reach = 1
	for _, axis := range order {
		strides[axis] = step
		step *= max(1, shape[axis])
		if p == sliced {
			step += 3
		}
		if p == repeated && axis == 0 {
			strides[axis] = 0
		}
		reach += max(0, shape[axis]-1) * strides[axis]
		if p == reversed {
			first += max(0, shape[axis]-1) * strides[axis]
			strides[axis] = -strides[axis]
		}
	}
	return strides, first, reach
}

func place(t require.TestingT, kind dtype.DType, shape []uint64, p pattern) *placed {
	dims := make([]int64, len(shape))
	for i, n := range shape {
		dims[i] = int64(n)
	}
	strides, first, reach := lay(dims, p)
	// Two elements of 4 bits share a byte, and the first one is in the low bits.
	if kind >= dtype.GGUFBase || slices.Contains(dims, 0) || isNibble(kind) && first%2 != 0 {
		strides, first, reach = strided.RowMajor(dims), 0, max(0, strideCount(dims))
	}
	layout, err := strided.Strided(dims, strides, 0)
	require.NoError(t, err)
	each, size := kind.Block()
	count := (uint64(reach) + each - 1) / each * size
	whole := make([]byte, 2*margin+64+count)
	skip := 64 - uint64(uintptr(unsafe.Pointer(&whole[0])))%64
	memory := whole[skip : skip+2*margin+count]
	for i := range memory {
		memory[i] = untouched
	}
	return &placed{kind: kind, layout: layout, first: first, memory: memory}
}

func strideCount(dims []int64) int64 {
	n, _ := strided.Count(dims)
	return int64(n)
}

func (p *placed) address() device.Addr {
	_, size := p.kind.Block()
	at := uint64(uintptr(unsafe.Pointer(&p.memory[margin:][:1:1][0])))
	if isNibble(p.kind) {
		return device.Addr(at + uint64(p.first/2))
	}
	return device.Addr(at + uint64(p.first)*size)
}

// each visits the places of the elements in the order of the shape.
func (p *placed) each(visit func(at int, element int64)) {
	shape, strides := p.layout.Shape(), p.layout.Strides()
	index := make([]int64, len(shape))
	for at := range int(p.layout.Elements()) {
		element := p.first
		for axis, i := range index {
			element += i * strides[axis]
		}
		visit(at, element)
		for axis := len(shape) - 1; axis >= 0; axis-- {
			if index[axis]++; index[axis] < shape[axis] {
				break
			}
			index[axis] = 0
		}
	}
}

// move copies one element between lists of elements.
func move(kind dtype.DType, to []byte, at int64, from []byte, source int64) {
	_, size := kind.Block()
	if !isNibble(kind) {
		copy(to[uint64(at)*size:uint64(at+1)*size], from[uint64(source)*size:])
		return
	}
	value := from[source/2] >> (source % 2 * 4) & 0xF
	shift := at % 2 * 4
	to[at/2] = to[at/2]&^(0xF<<shift) | value<<shift
}

func (p *placed) write(data []byte) {
	if p.kind >= dtype.GGUFBase {
		copy(p.memory[margin:], data)
		return
	}
	p.each(func(at int, element int64) { move(p.kind, p.memory[margin:], element, data, int64(at)) })
}

func (p *placed) read(t require.TestingT) *reference.Tensor {
	shape := make([]uint64, len(p.layout.Shape()))
	for i, n := range p.layout.Shape() {
		shape[i] = uint64(n)
	}
	each, size := p.kind.Block()
	data := make([]byte, (uint64(p.layout.Elements())+each-1)/each*size)
	p.each(func(at int, element int64) { move(p.kind, data, int64(at), p.memory[margin:], element) })
	tensor, err := reference.FromBytes(p.kind, shape, data)
	require.NoError(t, err)
	return tensor
}

// requireUntouched checks the memory beside the elements.
func (p *placed) requireUntouched(t require.TestingT, what string) {
	if isNibble(p.kind) {
		return
	}
	_, size := p.kind.Block()
	kept := bytes.Clone(p.memory)
	p.each(func(_ int, element int64) {
		at := margin + element*int64(size)
		for i := range int64(size) {
			kept[at+i] = untouched
		}
	})
	for i, b := range kept {
		if b != untouched {
			require.Fail(t, "a write outside", "%s: byte %d beside the elements was written", what, i-margin)
		}
	}
}

func (p *placed) operand() compute.Operand { return compute.Operand{Type: p.kind, Layout: p.layout} }

// call is an operator with inputs.
type call struct {
	op     *operator.Operator
	inputs []*argument
	wanted []bool
}

func (c call) String() string {
	text := c.op.Name
	for _, in := range c.inputs {
		if in == nil {
			text += " -"
			continue
		}
		text += fmt.Sprintf(" %v%v", in.Type, in.Shape)
	}
	return text
}

// constant returns the tensor with the elements of index 0 along the first dimension.
func (a *argument) constant() *argument {
	if len(a.Shape) == 0 || a.raw != nil || a.Shape[0] == 0 {
		return a
	}
	made := reference.New(a.Type, a.Shape)
	for at := range made.Floats {
		made.Floats[at] = a.Floats[at%(len(a.Floats)/int(a.Shape[0]))]
	}
	for at := range made.Ints {
		made.Ints[at] = a.Ints[at%(len(a.Ints)/int(a.Shape[0]))]
	}
	return &argument{Tensor: made}
}

// execution is a call whose operands are in memory.
type execution struct {
	call
	request compute.Request
	inputs  []*placed
	outputs []*placed
}

// prepare puts operands into memory. patterns are those of the inputs; the last one is of all others.
func (c call) prepare(t require.TestingT, in []pattern, out pattern) *execution {
	e := &execution{call: c}
	var values []operator.Value
	for i, a := range c.inputs {
		if a == nil {
			values = append(values, operator.Value{IsAbsent: true})
			e.inputs = append(e.inputs, nil)
			e.request.Inputs = append(e.request.Inputs, compute.Operand{IsAbsent: true})
			continue
		}
		p := in[min(i, len(in)-1)]
		if p == repeated {
			c.inputs[i] = a.constant()
			a = c.inputs[i]
		}
		made := place(t, a.Type, a.Shape, p)
		data := a.raw
		if data == nil {
			var err error
			data, err = a.Bytes()
			require.NoError(t, err)
		}
		made.write(data)
		e.inputs = append(e.inputs, made)
		operand := made.operand()
		operand.Known = a.Ints
		e.request.Inputs = append(e.request.Inputs, operand)
		values = append(values, operator.Value{Type: a.Type, Shape: a.Shape, Known: a.Ints})
	}
	inferred, err := c.op.Infer(values, c.wanted)
	require.NoError(t, err)
	e.request.Operator, e.request.Inferred = c.op, inferred
	for _, v := range inferred.Outputs {
		if v.IsAbsent {
			e.outputs = append(e.outputs, nil)
			e.request.Outputs = append(e.request.Outputs, compute.Operand{IsAbsent: true})
			continue
		}
		made := place(t, v.Type, v.Shape, out)
		e.outputs = append(e.outputs, made)
		e.request.Outputs = append(e.request.Outputs, made.operand())
	}
	return e
}

func addresses(list []*placed) []device.Addr {
	made := make([]device.Addr, len(list))
	for i, p := range list {
		if p != nil {
			made[i] = p.address()
		}
	}
	return made
}

// workspace returns memory that is aligned to 64 bytes, and a function that checks the bytes behind it.
func workspace(t require.TestingT, size uint64) (at device.Addr, check func()) {
	whole := make([]byte, size+128)
	for i := range whole {
		whole[i] = untouched
	}
	skip := 64 - uint64(uintptr(unsafe.Pointer(&whole[0])))%64
	return device.Addr(uint64(uintptr(unsafe.Pointer(&whole[0]))) + skip), func() {
		for _, b := range whole[skip+size:] {
			if b != untouched {
				require.Fail(t, "a write behind the workspace")
			}
		}
	}
}

// run plans and runs, and compares all outputs with the reference.
func (e *execution) run(t require.TestingT, engine *Engine) {
	p, err := engine.Plan(e.request)
	require.NoError(t, err, "%v", e.call)
	space, check := workspace(t, p.WorkspaceBytes())
	require.NoError(t, p.Run(addresses(e.inputs), addresses(e.outputs), space), "%v", e.call)
	check()
	e.compare(t)
}

func (e *execution) compare(t require.TestingT) {
	var tensors []*reference.Tensor
	for _, in := range e.call.inputs {
		if in == nil {
			tensors = append(tensors, nil)
		} else {
			tensors = append(tensors, in.Tensor)
		}
	}
	expected, err := reference.Run(e.op, tensors, e.wanted)
	require.NoError(t, err)
	for i, want := range expected {
		if want == nil {
			continue
		}
		what := fmt.Sprintf("output %d of %v", i, e.call)
		requireClose(t, want, e.outputs[i].read(t), what)
		e.outputs[i].requireUntouched(t, what)
	}
}

// epsilon is the relative error of one rounding to a type.
func epsilon(kind dtype.DType) float64 {
	switch kind {
	case dtype.F64:
		return 0x1p-52
	case dtype.F32:
		return 0x1p-24
	case dtype.F16:
		return 0x1p-11
	case dtype.BF16:
		return 0x1p-8
	}
	return 0
}

// requireClose compares a result with the reference, whose elements are not rounded.
func requireClose(t require.TestingT, want, got *reference.Tensor, what string) {
	require.Equal(t, want.Type, got.Type, what)
	if !want.Type.IsFloat() {
		require.Equal(t, want.Ints, got.Ints, what)
		return
	}
	data, err := want.Bytes()
	require.NoError(t, err)
	rounded, err := reference.FromBytes(want.Type, want.Shape, data)
	require.NoError(t, err)
	// Kernels of F32, F16 and BF16 compute in F32, those of F64 in F64.
	computed := 1e-5
	if want.Type == dtype.F64 {
		computed = 1e-13
	}
	for i, w := range want.Floats {
		g, r := got.Floats[i], rounded.Floats[i]
		if math.IsNaN(r) && math.IsNaN(g) || g == r {
			continue
		}
		allowed := 1.01*epsilon(want.Type)*math.Abs(w) + computed*max(1, math.Abs(w))
		isOverflow := math.IsInf(r, 0) != math.IsInf(g, 0) && math.Abs(w) > 60000 && !math.IsInf(w, 0)
		if !(math.Abs(g-w) <= allowed) && !isOverflow {
			require.Fail(t, "a wrong value", "%s: element %d is %v, expected %v", what, i, g, w)
		}
	}
}

// onEachSet runs a test with every instruction set of the machine.
func onEachSet(t *testing.T, threads int, test func(t *testing.T, e *Engine)) {
	t.Helper()
	for _, name := range cpu.Sets() {
		t.Run(name, func(t *testing.T) {
			e, err := open(compute.Options{InstructionSet: name, Threads: threads})
			require.NoError(t, err)
			defer e.Close()
			test(t, e)
		})
	}
}

// tensorOf returns a tensor of integers.
func tensorOf(kind dtype.DType, shape []uint64, elements ...int64) *reference.Tensor {
	made := reference.New(kind, shape)
	copy(made.Ints, elements)
	return made
}
