package operations

import (
	"errors"
	"strings"
	"sync"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
	"ferrum_mem/engines/cpu"
)

// plan is a program that computes one request.
type plan struct {
	engine  *Engine
	program *cpu.Program
	aliases []alias
}

// alias is an output that may have the address of an input.
type alias struct{ output, input int }

// WorkspaceBytes is the size of the memory that a run needs besides its operands.
func (p *plan) WorkspaceBytes() uint64 { return uint64(p.program.WorkspaceBytes()) }

// Run computes the outputs.
func (p *plan) Run(inputs, outputs []device.Addr, workspace device.Addr) error {
	return p.program.Run(&cpu.Operands{Inputs: inputs, Outputs: outputs, Workspace: workspace})
}

// InPlace states whether an output may have the address of an input.
func (p *plan) InPlace(output, input int) bool {
	for _, a := range p.aliases {
		if a.output == output && a.input == input {
			return true
		}
	}
	return false
}

// lowering turns one request into requests of the CPU engine.
type lowering struct {
	engine  *Engine
	op      *operator.Operator
	layout  operator.Layout
	inputs  []operand
	outputs []operand
	// requests run in their order. own is how many bytes of workspace hold their intermediate
	// values.
	requests []cpu.Request
	own      int64
	aliases  []alias
}

// lowerings returns the function of each operator. The first use makes the table.
var lowerings = sync.OnceValue(func() map[string]func(*lowering) error {
	return map[string]func(*lowering) error{
		"Add": binary(cpu.Add), "Sub": binary(cpu.Sub), "Mul": binary(cpu.Mul), "Div": binary(cpu.Div), "Pow": binary(cpu.Pow),
		"Sqrt": unary(cpu.Sqrt), "Tanh": unary(cpu.Tanh), "Erf": unary(cpu.Erf), "Relu": unary(cpu.Relu),
		"Gelu": (*lowering).gelu, "Swish": (*lowering).swish, "Where": (*lowering).where, "Cast": (*lowering).cast,
		"Expand": (*lowering).expand, "Concat": (*lowering).concat, "Split": (*lowering).split, "Slice": (*lowering).slice,
		"Transpose": (*lowering).transpose, "Reshape": (*lowering).reshape, "Squeeze": (*lowering).reshape,
		"Unsqueeze": (*lowering).reshape, "Gather": (*lowering).gather,
		"ReduceSum": reduce(cpu.ReduceSum), "ReduceMean": reduce(cpu.ReduceMean), "ReduceMax": reduce(cpu.ReduceMax),
		"ArgMax": (*lowering).argMax, "TopK": (*lowering).topK,
		"Softmax": (*lowering).softmax, "LayerNormalization": (*lowering).layerNorm, "RMSNormalization": (*lowering).rmsNorm,
		"MatMul": (*lowering).matMul, "Gemm": (*lowering).gemm,
		"RotaryEmbedding": (*lowering).rotary, "Attention": (*lowering).attention,
		"ferrum.rms_norm_residual": normResidual(cpu.RMSNormalization), "ferrum.layer_norm_residual": normResidual(cpu.LayerNormalization),
		"ferrum.silu_mul": binary(cpu.SiLUMul), "ferrum.self_attention": (*lowering).selfAttention,
		"ferrum.paged_attention": (*lowering).pagedAttention, "ferrum.linear": (*lowering).linear,
		"ferrum.quantized_linear": (*lowering).linear,
	}
})

// Plan lowers a request. Errors: CodeUnsupported for what the engine does not compute;
// CodeOverflow for an intermediate value that is too large.
func (e *Engine) Plan(r compute.Request) (compute.Plan, error) {
	lower, isKnown := lowerings()[r.Operator.FullName()]
	if !isKnown {
		return nil, device.Errorf(device.CodeUnsupported, opPlan, "%s is not computed by the CPU engine", r.Operator.Name)
	}
	l := &lowering{
		engine: e, op: r.Operator, layout: r.Inferred.Layout,
		inputs: make([]operand, len(r.Inputs)), outputs: make([]operand, len(r.Outputs)),
	}
	for i := range r.Inputs {
		l.inputs[i] = newOperand(ofInput, i, &r.Inputs[i])
	}
	for i := range r.Outputs {
		l.outputs[i] = newOperand(ofOutput, i, &r.Outputs[i])
	}
	err := l.checkPacking()
	if err == nil && (l.hasResult() || l.readsIndices()) {
		err = lower(l)
	}
	if err != nil {
		return nil, l.about(err)
	}
	program, err := e.cpu.Compile(l.requests, l.own)
	if err != nil {
		return nil, l.about(err)
	}
	return &plan{engine: e, program: program, aliases: l.aliases}, nil
}

// hasResult states whether an output has elements.
func (l *lowering) hasResult() bool {
	for _, o := range l.outputs {
		if o.isPresent() && o.elements() > 0 {
			return true
		}
	}
	return false
}

// readsIndices states whether the operator checks indices, also for outputs without elements.
func (l *lowering) readsIndices() bool {
	return l.op.Name == "Gather" || l.op.Name == "RotaryEmbedding" || l.op.Name == "paged_attention"
}

// in returns an input; it is absent if it was not given.
func (l *lowering) in(at int) operand {
	if at < len(l.inputs) {
		return l.inputs[at]
	}
	return operand{}
}

// out returns an output; it is absent if it is not wanted.
func (l *lowering) out(at int) operand {
	if at < len(l.outputs) {
		return l.outputs[at]
	}
	return operand{}
}

func (l *lowering) add(r cpu.Request) { l.requests = append(l.requests, r) }

// mayShare states that an output may have the address of an input if both have the same layout. No
// request reads the input after one has written the output: copies of inputs come first, and those of
// results last.
func (l *lowering) mayShare(output, input int) {
	out, in := l.out(output), l.in(input)
	if out.isPresent() && in.isPresent() && out.liesAs(in) {
		l.aliases = append(l.aliases, alias{output, input})
	}
}

// about adds the operator and its types to an error.
func (l *lowering) about(err error) error {
	var types []string
	for _, o := range l.inputs {
		if o.isPresent() {
			types = append(types, o.kind.String())
		}
	}
	var typed *device.Error
	if !errors.As(err, &typed) {
		return err
	}
	named := *typed
	named.Op = opPlan
	named.Message = l.op.FullName() + " of " + strings.Join(types, ", ") + ": " + typed.Message
	return &named
}

func unsupported(format string, args ...any) error {
	return device.Errorf(device.CodeUnsupported, opPlan, format, args...)
}
