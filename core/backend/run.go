package backend

import (
	"encoding/binary"
	"slices"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/tensor"
)

// Unwanted, as an output of a run, states that the output is not wanted. It is no tensor.
var Unwanted = &unwanted

var unwanted tensor.Tensor

// mostRead is how many elements of a shape, axes or sizes are read. Infer rejects more.
const mostRead = 4096

// run is one run of an operation. It is reused.
type run struct {
	op *Op
	// job is run.work, made once.
	job func() error

	inputs, outputs []compute.Operand
	// known has the elements of inputs that are read.
	known [][]int64
	// toMake states for each output whether Run makes it, and made has those that were made.
	toMake    []bool
	made      []*tensor.Tensor
	uses      []tensor.Use
	from, to  []device.Addr
	plan      *planned
	workspace workspace
	// hasAllocated states that the workspace was allocated for this run.
	hasAllocated bool
	// given has the inputs and outputs of the last run if it made no output and read no shape; otherwise it
	// is empty. Tensors never change, so a run with the same ones needs no further check, and has the same
	// plan.
	given []*tensor.Tensor
}

// take returns a run for reuse.
func (o *Op) take() *run {
	if r := o.spare.Swap(nil); r != nil {
		return r
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if last := len(o.idle) - 1; last >= 0 {
		r := o.idle[last]
		o.idle = o.idle[:last]
		return r
	}
	r := &run{op: o}
	r.job = r.work
	return r
}

// end releases what the run has used, and ends the call.
func (r *run) end() {
	for i := range r.uses {
		r.uses[i].End()
	}
	o := r.op
	o.backend.memory.workspaces.put(r.workspace)
	clear(r.made)
	r.uses, r.workspace, r.hasAllocated = r.uses[:0], workspace{}, false
	if !o.spare.CompareAndSwap(nil, r) {
		o.mu.Lock()
		o.idle = append(o.idle, r)
		o.mu.Unlock()
	}
	o.backend.gate.exit()
}

// forget removes what the last run has left.
func (r *run) forget() {
	r.inputs, r.outputs, r.toMake, r.made = r.inputs[:0], r.outputs[:0], r.toMake[:0], r.made[:0]
	r.from, r.to, r.plan, r.given = r.from[:0], r.to[:0], nil, r.given[:0]
}

// repeats states whether the tensors are those of the last run. An absent one is nil or Unwanted.
func (r *run) repeats(inputs, outputs []*tensor.Tensor) bool {
	return len(r.given) > 0 && len(inputs) == len(r.inputs) && len(outputs) == len(r.outputs) &&
		slices.Equal(r.given[:len(inputs)], inputs) && slices.Equal(r.given[len(inputs):], outputs)
}

// remember keeps the tensors for repeats.
func (r *run) remember(inputs, outputs []*tensor.Tensor) {
	if r.op.plans.most == 0 || slices.Contains(r.toMake, true) {
		return
	}
	for i := range r.inputs {
		if r.inputs[i].Known != nil {
			return
		}
	}
	r.given = append(append(r.given, inputs...), outputs...)
}

// match finds the plan for the tensors, and keeps them until the end of the run.
func (r *run) match(inputs, outputs []*tensor.Tensor, stream device.Stream) (err error) {
	if r.repeats(inputs, outputs) {
		for i, t := range r.given {
			if t == nil || t == Unwanted {
				continue
			}
			if err := r.keep(t); err != nil {
				if i < len(inputs) {
					return r.op.about("input", r.op.inputName(i), err)
				}
				return r.op.about("output", r.op.outputName(i-len(inputs)), err)
			}
		}
		return nil
	}
	r.forget()
	if err := r.gather(inputs, outputs, stream); err != nil {
		return err
	}
	if r.plan, err = r.op.planFor(r); err != nil {
		return err
	}
	if err := r.checkOverlaps(inputs); err != nil {
		return err
	}
	r.remember(inputs, outputs)
	return nil
}

// Run computes the outputs from the inputs. An absent input is nil. An output is a tensor with the type
// and shape that Infer returns, Unwanted, or nil: then Run makes it, contiguous and in the backend's
// memory, and stores it in outputs.
//
// The work is ordered by stream; nil is the default one. If all work of the stream is done, it runs in
// the calling thread, and is complete when Run returns. Otherwise, and on an adopted stream, it is
// queued. A failure of queued work is returned by the next Synchronize of the stream, and is the last
// error of the backend. On a device whose memory the host cannot address, Run waits for the stream
// instead. Inputs with a shape, axes or sizes are on a device whose memory the host can address; if they
// are given, Run waits for the stream, and reads them.
//
// An output may be the memory of an input only if the engine computes in place, and only with the same
// address, type and strides. Otherwise no output overlaps an input or another output.
//
// A run with the shapes and strides of an earlier one, whose outputs are given, allocates nothing.
//
// Errors: CodeInvalidArgument for inputs and outputs that do not fit, overlap, or have an index out of
// range; CodeUnsupported for a combination that the engine does not compute, and for a packed tensor
// that it cannot read; CodeUnsupportedDevice for a tensor of another device; CodePermissionDenied for an
// output in memory that is read-only; CodeBusy for a tensor whose memory sleeps; CodeInvalidState for a
// closed tensor or operation; CodeInvalidHandle for a closed backend; CodeOutOfMemory; those of the
// stream. After an error, outputs are as before and nothing stays allocated.
func (o *Op) Run(inputs, outputs []*tensor.Tensor, stream device.Stream) error {
	if err := o.enter(opRun); err != nil {
		return err
	}
	r := o.take()
	if stream == nil {
		stream = o.backend.device.Device().DefaultStream()
	}
	isQueued, err := r.start(inputs, outputs, stream)
	if err != nil {
		closeAll(r.made)
		r.workspace.isFresh = r.hasAllocated
		r.end()
		return o.backend.note(err)
	}
	if isQueued {
		return nil
	}
	r.give(outputs)
	r.end()
	return nil
}

// give stores the outputs that the run has made.
func (r *run) give(outputs []*tensor.Tensor) {
	for i, t := range r.made {
		if t != nil {
			outputs[i] = t
		}
	}
}

// start runs or queues the work. If it returns an error, the caller closes what was made.
func (r *run) start(inputs, outputs []*tensor.Tensor, stream device.Stream) (isQueued bool, err error) {
	if err := r.match(inputs, outputs, stream); err != nil {
		return false, err
	}
	o := r.op
	// Memory is allocated before the stream is seen idle: then all work that was queued on it before, and
	// that may still use the memory, is done.
	if r.workspace, err = o.backend.memory.workspaces.take(r.plan.workspaceBytes, stream); err != nil {
		return false, device.Errorf(device.CodeOf(err), opRun, "%s: workspace: %w", o.Name(), err).On(o.backend.device.ID())
	}
	r.hasAllocated = r.workspace.isFresh
	if err := r.makeOutputs(stream); err != nil {
		return false, err
	}
	atOnce, err := o.backend.mayRunNow(stream)
	if err != nil {
		return false, err
	}
	if atOnce {
		return false, r.compute()
	}
	return true, r.queue(outputs, stream)
}

// mayRunNow states whether work of a stream can run in the calling thread.
func (b *Backend) mayRunNow(stream device.Stream) (bool, error) {
	if !b.isHost {
		return true, stream.Synchronize(device.Forever)
	}
	return device.Drained(stream)
}

// gather describes the operands and keeps their tensors.
func (r *run) gather(inputs, outputs []*tensor.Tensor, stream device.Stream) error {
	for len(r.known) < len(inputs) {
		r.known = append(r.known, nil)
	}
	for i, t := range inputs {
		if t == nil {
			r.inputs, r.from = append(r.inputs, compute.Operand{IsAbsent: true}), append(r.from, 0)
			continue
		}
		isRead := r.op.parameter(i).IsRead
		if err := r.use(t, isRead); err != nil {
			return r.op.about("input", r.op.inputName(i), err)
		}
		r.inputs, r.from = append(r.inputs, operandOf(t)), append(r.from, t.Addr())
		if isRead {
			if err := r.read(i, t, stream); err != nil {
				return err
			}
		}
	}
	someWanted := false
	for i, t := range outputs {
		r.toMake, r.made = append(r.toMake, t == nil), append(r.made, nil)
		someWanted = someWanted || t != Unwanted
		if t == nil || t == Unwanted {
			r.outputs, r.to = append(r.outputs, compute.Operand{IsAbsent: true}), append(r.to, 0)
			continue
		}
		err := r.use(t, false)
		if err == nil && t.ReadOnly() {
			err = device.Errorf(device.CodePermissionDenied, opRun, "the memory of the tensor is read-only")
		}
		if err != nil {
			return r.op.about("output", r.op.outputName(i), err)
		}
		r.outputs, r.to = append(r.outputs, operandOf(t)), append(r.to, t.Addr())
	}
	if !someWanted {
		return r.op.wrong("no output is wanted")
	}
	return nil
}

func operandOf(t *tensor.Tensor) compute.Operand {
	return compute.Operand{Type: t.Type(), Layout: t.Layout().FromZero(), Packing: t.Packing()}
}

// about names the operand that an error is about.
func (o *Op) about(what, name string, err error) error {
	return device.Errorf(device.CodeOf(err), opRun, "%s: %s %q: %w", o.Name(), what, name, err).On(o.backend.device.ID())
}

// use keeps a tensor until the end of the run. isRead states that the host reads it: then it may be on any
// device whose memory the host addresses.
func (r *run) use(t *tensor.Tensor, isRead bool) error {
	on, b := t.Engine(), r.op.backend
	switch {
	case isRead && !(on == b.device && b.isHost) && !on.Info().HostAddressable:
		return device.Errorf(device.CodeUnsupportedDevice, opRun, "the tensor is on %s, whose memory the host cannot read", on.ID())
	case !isRead && on != b.device:
		return device.Errorf(device.CodeUnsupportedDevice, opRun, "the tensor is on %s", on.ID())
	}
	return r.keep(t)
}

// keep keeps the memory of a tensor until the end of the run. The call in progress keeps the backend's.
func (r *run) keep(t *tensor.Tensor) error {
	use, err := t.UseAwake(r.op.backend.memory)
	if err == nil {
		r.uses = append(r.uses, use)
	}
	return err
}

// read reads the elements of an input with a shape, axes or sizes, after the work of the stream.
func (r *run) read(at int, t *tensor.Tensor, stream device.Stream) error {
	if isDone, err := device.Drained(stream); err != nil {
		return err
	} else if !isDone {
		if err := stream.Synchronize(device.Forever); err != nil {
			return err
		}
	}
	layout := t.Layout()
	isWide := t.Type() == dtype.I64
	if len(layout.Shape()) != 1 || layout.Elements() > mostRead || !isWide && t.Type() != dtype.I32 || t.Packing() != "" {
		return nil // Infer rejects it
	}
	values := r.known[at][:0]
	if values == nil {
		values = []int64{}
	}
	if first, end := t.Reach(); end > first {
		memory := offheap.View(uintptr(first), int(end-first))
		place := int(t.Addr() - first)
		for range layout.Elements() {
			if isWide {
				values = append(values, int64(binary.NativeEndian.Uint64(memory[place:])))
				place += 8 * int(layout.Strides()[0])
			} else {
				values = append(values, int64(int32(binary.NativeEndian.Uint32(memory[place:]))))
				place += 4 * int(layout.Strides()[0])
			}
		}
	}
	r.known[at], r.inputs[at].Known = values, values
	return nil
}

// wanted states for each output whether it is wanted.
func (r *run) wanted() []bool {
	wanted := make([]bool, len(r.outputs))
	for i := range wanted {
		wanted[i] = r.toMake[i] || !r.outputs[i].IsAbsent
	}
	return wanted
}

// checkOverlaps checks the outputs that the caller gives. Memory that the run has made overlaps nothing.
func (r *run) checkOverlaps(inputs []*tensor.Tensor) error {
	for i := range r.outputs {
		if r.toMake[i] || r.outputs[i].IsAbsent {
			continue
		}
		first, end := r.plan.to[i].at(r.to[i])
		for j := range r.inputs {
			start, stop := r.plan.from[j].at(r.from[j])
			if r.inputs[j].Packing != "" {
				start, stop = inputs[j].Reach()
			}
			if first < stop && start < end && !r.isInPlace(i, j) {
				return r.op.wrong("output %q %v overlaps input %q %v: it is not computed in place", r.op.outputName(i), describe(r.outputs[i]), r.op.inputName(j), describe(r.inputs[j]))
			}
		}
		for j := range i {
			start, stop := r.plan.to[j].at(r.to[j])
			if !r.toMake[j] && first < stop && start < end {
				return r.op.wrong("output %q %v overlaps output %q %v", r.op.outputName(i), describe(r.outputs[i]), r.op.outputName(j), describe(r.outputs[j]))
			}
		}
	}
	return nil
}

// isInPlace states whether an output and an input are the same elements, and the engine allows that.
func (r *run) isInPlace(output, input int) bool {
	to, from := &r.outputs[output], &r.inputs[input]
	return r.to[output] == r.from[input] && to.Type == from.Type && to.Layout == from.Layout && from.Packing == "" && r.plan.plan.InPlace(output, input)
}

// makeOutputs makes the outputs that the caller wants and does not give.
func (r *run) makeOutputs(stream device.Stream) error {
	for i := range r.toMake {
		if !r.toMake[i] {
			continue
		}
		want := &r.plan.request.Outputs[i]
		made, err := tensor.New(r.op.backend.memory, want.Type, want.Layout.Shape(), stream)
		if err != nil {
			return r.op.about("output", r.op.outputName(i), err)
		}
		r.made[i], r.to[i] = made, made.Addr()
	}
	return nil
}

// compute runs the plan.
func (r *run) compute() error {
	r.workspace.isFresh = false
	if err := r.plan.plan.Run(r.from, r.to, r.workspace.addr); err != nil {
		return device.Errorf(device.CodeOf(err), opRun, "%s of %s: %w", r.op.Name(), describeAll(r.inputs), err).On(r.op.backend.device.ID())
	}
	r.op.backend.completed.Add(1)
	return nil
}

// queue queues the run. It belongs to the stream then.
func (r *run) queue(outputs []*tensor.Tensor, stream device.Stream) error {
	made := slices.Clone(r.made)
	for _, t := range made {
		if t != nil {
			// The caller may close it before the work has run.
			if err := r.keep(t); err != nil {
				return err
			}
		}
	}
	if err := device.QueueHostWork(stream, r.job); err != nil {
		return err
	}
	for i, t := range made {
		if t != nil {
			outputs[i] = t
		}
	}
	return nil
}

// work is the run on the stream.
func (r *run) work() error {
	defer r.end()
	return r.op.backend.note(r.compute())
}
