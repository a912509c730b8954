package ort

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
	"ferrum_mem/internal/dl"
)

// A function of a graph is a custom operator of ONNX Runtime, which knows it as a struct with functions in C.
// They read the inputs, and call Go once for each call of the operator. Types of operands are fixed, so ONNX
// Runtime checks them. It gets no function for shapes: the graph states those that are known, and a session is
// opened with a lock held, with which no function of the program may be called.

// custom is a function of a session.
type custom struct {
	compute.Function
	memory *allocator
	// kernel is the struct that ONNX Runtime has.
	kernel uintptr

	// last is the plan that was used last.
	last atomic.Pointer[customPlan]
	// mu guards plans, of which the first one is replaced first.
	mu    sync.Mutex
	plans []*customPlan
}

// customPlan is a plan with the shapes of its inputs.
type customPlan struct {
	shapes [][]int64
	compute.FunctionPlan
}

// mostPlans is how many plans a function keeps.
const mostPlans = 16

// callShape and customCall are struct fo_shape and struct fo_call.
type callShape struct {
	rank    uint64
	lengths [operator.MaxRank]int64
}

type customCall struct {
	context   uintptr
	addresses *device.Addr
	shapes    *callShape
	status    uintptr
}

// addFunctions adds the functions of a graph to the options of a session. The session closes them after an error.
func (s *session) addFunctions(options uintptr, list []compute.Function) error {
	domains := map[string]uintptr{}
	for _, f := range list {
		r, c := s.library, &custom{Function: f, memory: s.memory}
		types, err := c.types()
		if err != nil {
			return err
		}
		if c.kernel = newKernel(text(f.Name), types, len(f.Inputs), calls().compute, r.table); c.kernel == 0 {
			return device.Errorf(device.CodeOutOfMemory, opOpen, "the process has no memory for a session of ONNX Runtime")
		}
		calls().functions.Store(c.kernel, c)
		s.functions = append(s.functions, c)
		if domains[f.Domain] == 0 {
			var made uintptr
			name := text(f.Domain)
			if err := r.call(opOpen, createDomain, dl.Pointer(&name[0]), dl.Pointer(&made)); err != nil {
				return err
			}
			domains[f.Domain], s.domains = made, append(s.domains, made)
			if err := r.call(opOpen, addDomain, options, made); err != nil {
				return err
			}
		}
		if err := r.call(opOpen, addToDomain, domains[f.Domain], c.kernel); err != nil {
			return err
		}
	}
	return nil
}

// types returns the types of the operands as ONNX numbers them; 0 for an absent one.
func (c *custom) types() ([]int32, error) {
	all := slices.Concat(c.Inputs, c.Outputs)
	types := make([]int32, len(all))
	for i, o := range all {
		if o.IsAbsent {
			continue
		}
		if types[i] = operator.ONNXNumber(o.Type); types[i] == 0 {
			return nil, device.Errorf(device.CodeUnsupported, opOpen, "%q: ONNX Runtime has no type %s", operator.FullName(c.Domain, c.Name), o.Type)
		}
	}
	return types, nil
}

// close ends the function. No session has it.
func (c *custom) close() {
	calls().functions.Delete(c.kernel)
	freeTable(c.kernel)
}

// computeFunction computes a call. false: it has failed, and the session or the call has the error.
func (c *callbacks) computeFunction(kernel uintptr, call *customCall) (isDone bool) {
	found, _ := c.functions.Load(kernel)
	f, isKnown := found.(*custom)
	if !isKnown {
		return false
	}
	defer func() {
		if value := recover(); value != nil {
			isDone = false
			f.memory.fail(device.Errorf(device.CodeInternal, opRun, "a layer of the program panicked: %v", value))
		}
	}()
	err := f.compute(call)
	if err != nil {
		f.memory.fail(err)
	}
	return err == nil && call.status == 0
}

// compute computes a call. Without an error it may have the status of a failure of ONNX Runtime.
func (c *custom) compute(call *customCall) error {
	count := len(c.Inputs)
	shapes := unsafe.Slice(call.shapes, count+len(c.Outputs))
	plan, err := c.planFor(shapes[:count])
	if err != nil {
		return err
	}
	for i, shape := range plan.Shapes {
		to := &shapes[count+i]
		to.rank = uint64(copy(to.lengths[:], shape))
	}
	if !makeOutputs(c.kernel, uintptr(unsafe.Pointer(call))) {
		return nil
	}
	workspace := device.Addr(0)
	if plan.WorkspaceBytes > 0 {
		if workspace, err = c.memory.memory.Alloc(plan.WorkspaceBytes); err != nil {
			return err
		}
		defer c.memory.memory.Free(workspace)
	}
	addresses := unsafe.Slice(call.addresses, len(shapes))
	return plan.Run(addresses[:count:count], addresses[count:], workspace)
}

// planFor returns the plan for the shapes of the inputs.
func (c *custom) planFor(shapes []callShape) (*customPlan, error) {
	if last := c.last.Load(); last != nil && last.fits(c, shapes) {
		return last, nil
	}
	if known := c.find(shapes); known != nil {
		c.last.Store(known)
		return known, nil
	}
	made := &customPlan{shapes: make([][]int64, len(shapes))}
	for i := range shapes {
		if !c.Inputs[i].IsAbsent {
			made.shapes[i] = slices.Clone(shapes[i].lengths[:shapes[i].rank])
		}
	}
	var err error
	if made.FunctionPlan, err = c.Plan(made.shapes); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.plans) >= mostPlans {
		c.plans = slices.Delete(c.plans, 0, 1)
	}
	c.plans = append(c.plans, made)
	c.last.Store(made)
	return made, nil
}

func (c *custom) find(shapes []callShape) *customPlan {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.plans {
		if p.fits(c, shapes) {
			return p
		}
	}
	return nil
}

func (p *customPlan) fits(c *custom, shapes []callShape) bool {
	for i := range shapes {
		if !c.Inputs[i].IsAbsent && !slices.Equal(p.shapes[i], shapes[i].lengths[:shapes[i].rank]) {
			return false
		}
	}
	return true
}
