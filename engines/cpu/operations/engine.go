package operations

import (
	"strconv"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
	"ferrum_mem/engines/cpu"
)

const (
	opPlan = "cpu.plan"
	opBind = "cpu.bind"
	opPack = "cpu.pack"
)

// version is the version of the engine: it changes when results or packed layouts do.
const version = "3"

// Engine computes operators on the processors of this machine.
type Engine struct {
	cpu          *cpu.Engine
	capabilities compute.Capabilities
}

var _ compute.Divider = (*Engine)(nil)

// A part of a product has at least leastRows rows for each thread. That is about what a block of the kernels has,
// so the right matrix is read no more often than by the whole product. A product with fewer rows than two such
// parts is halved, if a half has at least fewestRows rows for each thread: it then reads its right matrix twice.
const (
	leastRows  = 128
	fewestRows = 64
)

// New starts the engine, which is the same at all levels. Errors: those of cpu.Open.
func New(o compute.Options) (compute.Engine, error) {
	e, err := open(o)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func open(o compute.Options) (*Engine, error) {
	kernels, err := cpu.Open(cpu.Config{Instructions: o.InstructionSet, Threads: o.Threads})
	if err != nil {
		return nil, err
	}
	e := &Engine{cpu: kernels}
	e.capabilities = compute.Capabilities{
		Name: "cpu", Version: version, Threads: kernels.Threads(), AlignmentBytes: 64, HasTiledAttention: true,
		Details:    map[string]string{"instructions": kernels.Instructions(), "threads": strconv.Itoa(kernels.Threads())},
		Operations: map[string][]dtype.DType{},
	}
	var all operator.Types
	for _, domain := range []string{operator.ONNX, operator.Ferrum} {
		for _, name := range operator.Names(domain) {
			first, each := typesOf(domain, name)
			all |= each
			e.capabilities.Operations[operator.FullName(domain, name)] = first.List()
		}
	}
	e.capabilities.Types = all.List()
	return e, nil
}

// Capabilities states what the engine computes.
func (e *Engine) Capabilities() compute.Capabilities { return e.capabilities }

// Close ends the threads. The caller makes sure that no other call is in progress.
func (e *Engine) Close() { e.cpu.Close() }

// Bind joins steps to one program. Errors: CodeInvalidArgument for a plan of another engine.
func (e *Engine) Bind(steps []compute.Step) (run func() error, err error) {
	parts := make([]cpu.Bound, len(steps))
	for i, s := range steps {
		p, isOurs := s.Plan.(*plan)
		if !isOurs || p.engine != e {
			return nil, device.Errorf(device.CodeInvalidArgument, opBind, "step %d is the plan of another engine", i)
		}
		parts[i] = cpu.Bound{
			Program:  p.program,
			Operands: cpu.Operands{Inputs: s.Inputs, Outputs: s.Outputs, Workspace: s.Workspace},
		}
	}
	program := e.cpu.Join(parts)
	return func() error { return program.Run(&cpu.Operands{}) }, nil
}

// Divides states whether an operation can be computed part by part.
func (e *Engine) Divides(whole, part compute.Plan) bool {
	w, isOurs := whole.(*plan)
	p, isAlso := part.(*plan)
	threads := int64(e.cpu.Threads())
	return isOurs && isAlso && w.program.Divides(p.program, leastRows*threads, fewestRows*threads)
}

// typesOf returns the types of the first input and of any input of an operator, in all of its forms.
// The engine computes them all: the general kernels take every type.
func typesOf(domain, name string) (first, each operator.Types) {
	for opset := operator.FerrumOpset; opset <= operator.NewestOpset; opset++ {
		if s, err := operator.Find(domain, name, opset); err == nil {
			first |= s.Inputs[0].Types
			for _, p := range s.Inputs {
				each |= p.Types
			}
		}
	}
	return first, each
}
