package backend

import (
	"slices"
	"sync"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/onnx"
	"ferrum_mem/core/operator"
)

// graphOperations computes single operations with an engine of graphs: each plan is a graph of one operator,
// whose session is made for its shapes.
type graphOperations struct {
	graphs       compute.GraphEngine
	capabilities compute.Capabilities
	memory       sessionMemory
	// device is set with the memory.
	device device.Device

	// mu guards plans, those that have a session; the first has had it for the longest time.
	mu    sync.Mutex
	plans []*graphPlan
}

// mostSessions is how many plans have a session. Each session may have threads.
const mostSessions = 32

var _ compute.Engine = (*graphOperations)(nil)

// sessionMemory is the memory of sessions in that of the backend, which is set when it exists.
type sessionMemory struct{ of *memory }

// Alloc allocates memory.
func (m *sessionMemory) Alloc(sizeBytes uint64) (device.Addr, error) { return m.of.allocFor(sizeBytes) }

// Free frees memory.
func (m *sessionMemory) Free(addr device.Addr) { m.of.freeOf(addr) }

func newGraphOperations(graphs compute.GraphEngine) *graphOperations {
	e := &graphOperations{graphs: graphs, capabilities: graphs.Capabilities()}
	e.capabilities.Operations = map[string][]dtype.DType{}
	var all operator.Types
	for _, domain := range []string{operator.ONNX, operator.Ferrum} {
		for _, name := range operator.Names(domain) {
			s, err := operator.Find(domain, name, 0)
			// ONNX has no product with blocks, and no cache with tables.
			if err != nil || s.FullName() == "ferrum.quantized_linear" || s.FullName() == pagedAttention {
				continue
			}
			e.capabilities.Operations[s.FullName()] = s.Inputs[0].Types.List()
			all |= s.Inputs[0].Types
		}
	}
	e.capabilities.Types = all.List()
	return e
}

// Capabilities states what the engine computes: all operators. It has no list of the types, and Plan tells.
func (e *graphOperations) Capabilities() compute.Capabilities { return e.capabilities }

// Close ends the engine.
func (e *graphOperations) Close() {
	e.trim()
	e.graphs.Close()
}

// trim ends all sessions.
func (e *graphOperations) trim() {
	e.mu.Lock()
	plans := e.plans
	e.plans = nil
	e.mu.Unlock()
	for _, p := range plans {
		p.drop()
	}
}

// Bind joins steps, which then run one after the other.
func (e *graphOperations) Bind(steps []compute.Step) (run func() error, err error) {
	for i := range steps {
		if p, isOurs := steps[i].Plan.(*graphPlan); !isOurs || p.engine != e {
			return nil, device.Errorf(device.CodeInvalidArgument, opPlan, "step %d is the plan of another engine", i)
		}
	}
	return inTurn(steps), nil
}

// Pack returns CodeUnsupported.
func (e *graphOperations) Pack(o *operator.Operator, _ int, _ compute.Operand) (compute.Packed, error) {
	return compute.Packed{}, device.Errorf(device.CodeUnsupported, opPack, "%s: %s takes no packed inputs", o.FullName(), e.capabilities.Name)
}

// valueOf describes an operand without its strides.
func valueOf(of *compute.Operand) operator.Value {
	v := operator.Value{Type: of.Type, Known: of.Known, IsAbsent: of.IsAbsent}
	lengths := of.Layout.Shape()
	v.Shape = make([]uint64, len(lengths))
	for axis, length := range lengths {
		v.Shape[axis] = uint64(length)
	}
	return v
}

// place is an operand that is an input or an output of a graph.
type place struct {
	operand int
	bound   compute.Bound
}

// graphPlan is a plan. Its graph stays when its session ends.
type graphPlan struct {
	engine          *graphOperations
	graph           compute.Graph
	inputs, outputs []place

	// mu is held for reading by runs, and for writing while the session is made or ended.
	mu      sync.RWMutex
	session compute.Session
}

// Plan makes a graph and its session. Errors: CodeUnsupported for operands with gaps, for packed ones, and
// for what the engine lacks.
func (e *graphOperations) Plan(r compute.Request) (compute.Plan, error) {
	values, wanted := make([]operator.Value, len(r.Inputs)), make([]bool, len(r.Outputs))
	for i := range r.Inputs {
		values[i] = valueOf(&r.Inputs[i])
	}
	for i := range r.Outputs {
		wanted[i] = !r.Outputs[i].IsAbsent
	}
	graph, err := onnx.ForOperator(r.Operator, values, wanted)
	if err != nil {
		return nil, err
	}
	p := &graphPlan{engine: e, graph: compute.Graph{Name: r.Operator.FullName(), ONNX: graph.Bytes, Memory: &e.memory, Device: e.device, Stream: e.device.DefaultStream()}}
	isConstant := func(at int) bool { return r.Operator.Inputs[min(at, len(r.Operator.Inputs)-1)].IsRead }
	if p.inputs, err = e.places("input", r.Inputs, graph.Inputs, isConstant); err == nil {
		p.outputs, err = e.places("output", r.Outputs, graph.Outputs, func(int) bool { return false })
	}
	if err != nil {
		return nil, device.Errorf(device.CodeOf(err), opPlan, "%s: %w", r.Operator.FullName(), err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p, p.open()
}

// places finds the operands that are values of a graph, in the same order. Absent operands and constants are
// none.
func (e *graphOperations) places(what string, operands []compute.Operand, values []onnx.Value, isConstant func(at int) bool) ([]place, error) {
	var list []place
	for i := range operands {
		of := &operands[i]
		switch {
		case of.Packing != "":
			return nil, device.Errorf(device.CodeUnsupported, opPlan, "%s %d is packed as %q, and %s takes no packed operands", what, i, of.Packing, e.capabilities.Name)
		case of.IsAbsent || isConstant(i):
			continue
		case !of.Layout.IsContiguous():
			return nil, device.Errorf(device.CodeUnsupported, opPlan, "%s %d is %v: %s takes contiguous operands", what, i, of.Layout, e.capabilities.Name)
		case len(list) == len(values):
			return nil, device.Errorf(device.CodeInternal, opPlan, "%s %d has no place in the graph", what, i)
		}
		list = append(list, place{i, compute.Bound{Name: values[len(list)].Name, Type: of.Type, Shape: slices.Clone(of.Layout.Shape())}})
	}
	return list, nil
}

// open makes the session, and ends that of another plan if there are too many. The caller holds mu.
func (p *graphPlan) open() (err error) {
	if p.session, err = p.engine.graphs.OpenGraph(p.graph); err != nil {
		p.session = nil
		return device.Errorf(device.CodeOf(err), opRun, "%s: %w", p.graph.Name, err)
	}
	e := p.engine
	e.mu.Lock()
	var oldest *graphPlan
	if e.plans = append(e.plans, p); len(e.plans) > mostSessions {
		oldest = e.plans[0]
		e.plans = slices.Delete(e.plans, 0, 1)
	}
	e.mu.Unlock()
	if oldest != nil {
		oldest.drop()
	}
	return nil
}

// drop ends the session. It waits for runs.
func (p *graphPlan) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session != nil {
		p.session.Close()
		p.session = nil
	}
}

// WorkspaceBytes is 0: a session has memory of its own.
func (p *graphPlan) WorkspaceBytes() uint64 { return 0 }

// InPlace is false.
func (p *graphPlan) InPlace(int, int) bool { return false }

// Run runs the session.
func (p *graphPlan) Run(inputs, outputs []device.Addr, _ device.Addr) error {
	p.mu.RLock()
	for p.session == nil {
		p.mu.RUnlock()
		if err := p.reopen(); err != nil {
			return err
		}
		p.mu.RLock()
	}
	defer p.mu.RUnlock()
	done, err := p.session.Run(bind(p.inputs, inputs), bind(p.outputs, outputs))
	if err != nil {
		return err
	}
	done()
	return nil
}

// reopen makes a session that was ended.
func (p *graphPlan) reopen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session != nil {
		return nil
	}
	return p.open()
}

// bind returns the values of a graph with their addresses.
func bind(places []place, at []device.Addr) []compute.Bound {
	list := make([]compute.Bound, len(places))
	for i, p := range places {
		list[i] = p.bound
		list[i].Addr = at[p.operand]
	}
	return list
}

// RunsGraphs states whether OpenGraph works: whether the backend has an engine of graphs.
func (b *Backend) RunsGraphs() bool {
	_, isOfGraphs := b.engine.(*graphOperations)
	return isOfGraphs
}

// OpenGraph opens a session, which the caller closes before the backend; a forced close of the backend waits
// for its runs. Errors: CodeUnsupported without an engine of graphs; those of compute.GraphEngine;
// CodeInvalidHandle for a closed backend.
func (b *Backend) OpenGraph(g compute.Graph) (compute.Session, error) {
	const op = "backend.open_graph"
	if err := b.enter(op); err != nil {
		return nil, err
	}
	defer b.gate.exit()
	of, isOfGraphs := b.engine.(*graphOperations)
	if !isOfGraphs {
		return nil, device.Errorf(device.CodeUnsupported, op, "backend %s runs no graphs", b.name).On(b.device.ID())
	}
	made, err := of.graphs.OpenGraph(g)
	if err != nil {
		return nil, b.note(device.About(b.device.ID(), err))
	}
	b.sessions.Add(1)
	return &openSession{Session: made, backend: b}, nil
}

// openSession is a session that keeps its backend open.
type openSession struct {
	compute.Session
	backend *Backend
}

// Run runs the graph. Errors: also CodeInvalidHandle for a closed backend.
func (s *openSession) Run(inputs, outputs []compute.Bound) (done func(), err error) {
	b := s.backend
	if err := b.enter(opRun); err != nil {
		return func() {}, err
	}
	defer b.gate.exit()
	done, err = s.Session.Run(inputs, outputs)
	if err == nil {
		b.completed.Add(1)
	}
	return done, b.note(err)
}

// Close ends the session.
func (s *openSession) Close() {
	s.Session.Close()
	s.backend.sessions.Add(-1)
}
