package backend

import (
	"slices"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/tensor"
)

// planned is a plan for inputs and outputs of certain types, shapes and strides. Only wasFound changes.
type planned struct {
	request compute.Request
	plan    compute.Plan
	// workspaceBytes is queried from the plan once.
	workspaceBytes uint64
	// isContiguous states for each output whether it is contiguous.
	isContiguous []bool
	// from and to are the bytes that inputs and outputs reach.
	from, to []extent
	// key is keyOf the inputs.
	key uint64
	// wasFound states that a run has found the plan in the list.
	wasFound atomic.Bool
}

// extent is the bytes that an operand reaches, relative to its address: from low to before high.
type extent struct{ low, high int64 }

// extentOf returns the extent of an operand that is not packed. It is empty without elements.
func extentOf(of *compute.Operand) extent {
	if of.IsAbsent {
		return extent{}
	}
	low, high := tensor.Extent(of.Type, &of.Layout)
	return extent{low, high}
}

func extentsOf(operands []compute.Operand) []extent {
	list := make([]extent, len(operands))
	for i := range operands {
		list[i] = extentOf(&operands[i])
	}
	return list
}

// at returns the addresses that are reached.
func (e extent) at(addr device.Addr) (first, end device.Addr) {
	return addr + device.Addr(e.low), addr + device.Addr(e.high)
}

// fits states whether the plan is for these operands. An output without a tensor is contiguous.
func (p *planned) fits(r *run) bool {
	if len(p.request.Inputs) != len(r.inputs) || len(p.request.Outputs) != len(r.outputs) {
		return false
	}
	for i := range r.inputs {
		if !sameOperand(&p.request.Inputs[i], &r.inputs[i]) {
			return false
		}
	}
	for i := range r.outputs {
		if r.toMake[i] {
			if !p.isContiguous[i] {
				return false
			}
		} else if !sameOperand(&p.request.Outputs[i], &r.outputs[i]) {
			return false
		}
	}
	return true
}

func sameOperand(a, b *compute.Operand) bool {
	return a.IsAbsent == b.IsAbsent && a.Type == b.Type && a.Layout == b.Layout && a.Packing == b.Packing && slices.Equal(a.Known, b.Known)
}

// planCache keeps the plans of an operation. Looking one up takes no lock.
type planCache struct {
	// most is the largest number of kept plans.
	most int
	// last is the plan that was used last.
	last atomic.Pointer[planned]
	// all is nil without a plan, and otherwise points to a list that does not change, with room for most plans.
	all atomic.Pointer[[]atomic.Pointer[planned]]

	// mu: one thread at a time adds a plan.
	mu sync.Mutex
	// next is the place of the next plan. If the list is full, the plan there is replaced unless it was found
	// since next has passed it: then it stays for another round.
	next int
}

// find returns the plan for a run; nil: none is kept.
func (c *planCache) find(r *run) *planned {
	last := c.last.Load()
	if last != nil && last.fits(r) {
		return last
	}
	all := c.all.Load()
	if all == nil {
		return nil
	}
	key := keyOf(r.inputs)
	for i := range *all {
		p := (*all)[i].Load()
		if p == nil {
			return nil
		}
		if p.key == key && p.fits(r) {
			p.wasFound.Store(true)
			c.last.Store(p)
			return p
		}
	}
	return nil
}

// keyOf returns a number for inputs that is the same for inputs that fit one plan, and mostly another one for
// others: a decoder has a new shape at each token, so a run often fits none of the plans.
func keyOf(inputs []compute.Operand) uint64 {
	key := uint64(len(inputs))
	mix := func(n int64) { key = (key ^ uint64(n)) * 0x9e3779b97f4a7c15; key ^= key >> 29 }
	for i := range inputs {
		of := &inputs[i]
		mix(int64(of.Type)<<16 | int64(len(of.Packing))<<8 | int64(len(of.Layout.Shape())))
		for axis, length := range of.Layout.Shape() {
			mix(length)
			mix(of.Layout.Strides()[axis])
		}
		for _, n := range of.Known {
			mix(n)
		}
	}
	return key
}

// add keeps a plan, in place of the oldest one that was not found again if there are too many.
func (c *planCache) add(p *planned) {
	if c.most == 0 {
		return
	}
	p.key = keyOf(p.request.Inputs)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all.Load() == nil {
		list := make([]atomic.Pointer[planned], c.most)
		c.all.Store(&list)
	}
	list := *c.all.Load()
	for range list {
		old := list[c.next].Load()
		if old == nil || !old.wasFound.Swap(false) {
			break
		}
		c.next = (c.next + 1) % c.most
	}
	list[c.next].Store(p)
	c.next = (c.next + 1) % c.most
	c.last.Store(p)
}

// planFor returns the plan for a run. It checks the outputs that the caller gives.
func (o *Op) planFor(r *run) (*planned, error) {
	if p := o.plans.find(r); p != nil {
		return p, nil
	}
	inferred, err := o.infer(valuesOf(r.inputs), r.wanted())
	if err != nil {
		return nil, err
	}
	made := &planned{request: compute.Request{Operator: o.operator, Inferred: inferred, Inputs: slices.Clone(r.inputs)}}
	for i := range made.request.Inputs {
		made.request.Inputs[i].Known = slices.Clone(r.inputs[i].Known)
	}
	// The outputs that the operator does not have stay absent.
	expected, err := contiguous(inferred.Outputs)
	if err != nil {
		return nil, device.About(o.backend.device.ID(), err)
	}
	for len(expected) < len(r.outputs) {
		expected = append(expected, compute.Operand{IsAbsent: true})
	}
	made.request.Outputs, made.isContiguous = expected[:len(r.outputs)], make([]bool, len(r.outputs))
	for i := range r.outputs {
		if err := o.checkOutput(r, made, i); err != nil {
			return nil, err
		}
	}
	if made.plan, err = o.plan(made.request); err != nil {
		return nil, err
	}
	o.backend.planned.Add(1)
	made.workspaceBytes = made.plan.WorkspaceBytes()
	made.from, made.to = extentsOf(made.request.Inputs), extentsOf(made.request.Outputs)
	o.plans.add(made)
	return made, nil
}

// checkOutput compares an output with what was inferred, and takes over its strides.
func (o *Op) checkOutput(r *run, p *planned, at int) error {
	given, want := &r.outputs[at], &p.request.Outputs[at]
	p.isContiguous[at] = !want.IsAbsent
	if r.toMake[at] || given.IsAbsent {
		if r.toMake[at] && want.IsAbsent {
			return o.wrong("output %q: the operator does not give it for these inputs", o.outputName(at))
		}
		return nil
	}
	switch {
	case given.Packing != "":
		return o.wrong("output %q is packed as %q: an output is a plain tensor", o.outputName(at), given.Packing)
	case want.IsAbsent:
		return o.wrong("output %q: the operator does not give it for these inputs", o.outputName(at))
	case given.Type != want.Type || !slices.Equal(given.Layout.Shape(), want.Layout.Shape()):
		return o.wrong("output %q is %s, and the inputs %s give %s", o.outputName(at), describe(*given), describeAll(p.request.Inputs), describe(*want))
	case !given.Layout.IsInjective():
		return o.wrong("output %q, %v: several elements have one place, so none can be written", o.outputName(at), given.Layout)
	}
	p.isContiguous[at] = given.Layout.IsContiguous() && given.Layout == want.Layout
	want.Layout = given.Layout
	return nil
}

// wrong is the error for arguments of a run.
func (o *Op) wrong(format string, values ...any) error {
	return device.Errorf(device.CodeInvalidArgument, opRun, o.Name()+": "+format, values...).On(o.backend.device.ID())
}

// describe returns the type and the shape of an operand.
func describe(of compute.Operand) string { return valueOf(&of).String() }

// describeAll describes the first operands of a list.
func describeAll(list []compute.Operand) string {
	const most = 8
	text := ""
	for i, of := range list[:min(len(list), most)] {
		if i > 0 {
			text += ", "
		}
		text += describe(of)
	}
	return text
}
