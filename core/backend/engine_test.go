package backend_test

import (
	"strings"
	"sync/atomic"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/operator/reference"
	"ferrum_mem/core/strided"
)

// testEngine computes with package reference, in memory that the process addresses. It is for tests: it
// allocates, and is slow. Each of its calls may be made to fail.
type testEngine struct {
	call func() error
	// plans, runs and open count calls.
	plans, runs, open *atomic.Int64
	// set is part of the name of its packing, like an instruction set.
	set string
	// isCheap states that runs compute nothing and allocate nothing.
	isCheap bool
}

func (e *testEngine) Capabilities() compute.Capabilities {
	c := compute.Capabilities{
		Name: "reference", Version: "1", Details: map[string]string{"instruction_set": e.set}, Threads: 1, AlignmentBytes: 64,
		Types: []dtype.DType{dtype.F32, dtype.BF16, dtype.I64}, Operations: map[string][]dtype.DType{},
	}
	for _, domain := range []string{operator.ONNX, operator.Ferrum} {
		for _, name := range operator.Names(domain) {
			full := strings.TrimPrefix(domain+"."+name, ".")
			if full != "Tanh" { // one operator that the engine lacks
				c.Operations[full] = []dtype.DType{dtype.F32}
			}
		}
	}
	return c
}

func (e *testEngine) Close() { e.open.Add(-1) }

func (e *testEngine) Plan(r compute.Request) (compute.Plan, error) {
	e.plans.Add(1)
	if err := e.call(); err != nil {
		return nil, err
	}
	for i, in := range r.Inputs {
		if in.Packing != "" && !(in.Packing == e.packing() && r.Operator.Name == "MatMul" && i == 1) {
			return nil, device.Errorf(device.CodeUnsupported, "test.plan", "packing %q of input %d is not read", in.Packing, i)
		}
	}
	return &testPlan{engine: e, request: r}, nil
}

func (e *testEngine) packing() string { return "reference." + e.set + ".backwards" }

// Pack describes a layout with the elements in reverse order.
func (e *testEngine) Pack(o *operator.Operator, input int, from compute.Operand) (compute.Packed, error) {
	if err := e.call(); err != nil {
		return compute.Packed{}, err
	}
	if o.Name != "MatMul" || input != 1 || from.Type != dtype.F32 {
		return compute.Packed{}, device.Errorf(device.CodeUnsupported, "test.pack", "input %d of %s is not packed", input, o.Name)
	}
	count := int(from.Layout.Elements())
	return compute.Packed{Packing: e.packing(), SizeBytes: uint64(4 * count), Write: func(src, dst device.Addr) error {
		if err := e.call(); err != nil {
			return err
		}
		bytes, to := elements(src, from), offheap.View(uintptr(dst), 4*count)
		for i := range count {
			copy(to[4*i:4*i+4], bytes[4*(count-1-i):])
		}
		return nil
	}}, nil
}

func (e *testEngine) Bind(steps []compute.Step) (func() error, error) {
	if err := e.call(); err != nil {
		return nil, err
	}
	return func() error {
		for i := range steps {
			if err := steps[i].Plan.Run(steps[i].Inputs, steps[i].Outputs, steps[i].Workspace); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

type testPlan struct {
	engine  *testEngine
	request compute.Request
}

const testWorkspaceBytes = 1000

func (p *testPlan) WorkspaceBytes() uint64 {
	if p.request.Operator.Name == "MatMul" {
		return testWorkspaceBytes
	}
	return 0
}

func (p *testPlan) InPlace(_, input int) bool { return p.request.Operator.Name == "Add" && input == 0 }

func (p *testPlan) Run(inputs, outputs []device.Addr, workspace device.Addr) error {
	p.engine.runs.Add(1)
	if err := p.engine.call(); err != nil {
		return err
	}
	if p.engine.isCheap {
		return nil
	}
	if bytes := p.WorkspaceBytes(); bytes > 0 {
		clear(offheap.View(uintptr(workspace), int(bytes)))
	}
	values := make([]*reference.Tensor, len(inputs))
	for i, in := range p.request.Inputs {
		if in.IsAbsent {
			continue
		}
		bytes := elements(inputs[i], in)
		if in.Packing != "" {
			bytes = backwards(bytes)
		}
		var err error
		if values[i], err = reference.FromBytes(in.Type, lengths(in.Layout), bytes); err != nil {
			return err
		}
	}
	wanted := make([]bool, len(outputs))
	for i, out := range p.request.Outputs {
		wanted[i] = !out.IsAbsent
	}
	results, err := reference.Run(p.request.Operator, values, wanted)
	if err != nil {
		return err
	}
	for i, out := range p.request.Outputs {
		if out.IsAbsent {
			continue
		}
		bytes, err := results[i].Bytes()
		if err != nil {
			return err
		}
		spread(outputs[i], out, bytes)
	}
	return nil
}

func lengths(l strided.Layout) []uint64 {
	shape := make([]uint64, len(l.Shape()))
	for i, length := range l.Shape() {
		shape[i] = uint64(length)
	}
	return shape
}

func backwards(bytes []byte) []byte {
	turned := make([]byte, 0, len(bytes))
	for i := len(bytes); i > 0; i -= 4 {
		turned = append(turned, bytes[i-4:i]...)
	}
	return turned
}

// eachPlace calls visit with the address of each element, in the order of the shape.
func eachPlace(at device.Addr, of compute.Operand, visit func(index int, place uintptr, width int)) {
	_, width := of.Type.Block()
	layout, _ := strided.Contiguous(of.Layout.Shape()...)
	_ = strided.Pairs(&of.Layout, &layout, func(r strided.Run) error {
		for i := range r.Count {
			visit(int(r.To+i*r.ToStep), uintptr(int64(at)+(r.From+i*r.FromStep)*int64(width)), int(width))
		}
		return nil
	})
}

// elements returns the bytes of all elements.
func elements(at device.Addr, of compute.Operand) []byte {
	_, width := of.Type.Block()
	bytes := make([]byte, uint64(of.Layout.Elements())*width)
	eachPlace(at, of, func(i int, place uintptr, width int) {
		copy(bytes[i*width:(i+1)*width], offheap.View(place, width))
	})
	return bytes
}

func spread(at device.Addr, of compute.Operand, bytes []byte) {
	eachPlace(at, of, func(i int, place uintptr, width int) {
		copy(offheap.View(place, width), bytes[i*width:(i+1)*width])
	})
}
