package model

import (
	"context"
	"errors"
	"maps"
	"slices"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
)

// A run of a session. An input that is contiguous, on the device of the model and of its type is read where it
// is; any other one is copied into the arena first. The session writes an output to its tensor if an earlier run
// with the same lengths has shown its shape, and if the tensor is contiguous and overlaps nothing. Otherwise
// it makes the output in the arena, and the run copies it.

// sessionRun is a run in progress.
type sessionRun struct {
	*sessions
	stream device.Stream
	key    string
	dims   map[string]uint64
	known  *observed

	inputs, outputs []compute.Bound
	// reads are the bytes that the session reads or writes where they are.
	reads []span
	// uses keep tensors, and scratch is memory of the arena.
	uses     []tensor.Use
	scratch  []device.Addr
	temporal []*tensor.Tensor
	// given has for each output the tensor that the session writes; nil: it makes the output.
	given []*tensor.Tensor
	// made are the outputs that the run has made, by name.
	made map[string]*tensor.Tensor
	// inspect gets the outputs in the arena, which are copied nowhere; nil: they are.
	inspect func(name string, t *tensor.Tensor) error
}

// span is a range of addresses.
type span struct{ first, end device.Addr }

func spanOf(t *tensor.Tensor) span {
	first, end := t.Reach()
	return span{first, end}
}

func (s span) overlaps(other span) bool { return s.first < other.end && other.first < s.end }

func (x *sessions) run(_ context.Context, dims map[string]uint64, inputs, outputs map[string]*tensor.Tensor, stream device.Stream) error {
	return x.start(&sessionRun{sessions: x, stream: stream, dims: dims, key: keyOf(dims), made: map[string]*tensor.Tensor{}}, inputs, outputs)
}

// start runs the session, and stores the outputs that the run makes.
func (x *sessions) start(r *sessionRun, inputs, outputs map[string]*tensor.Tensor) error {
	for _, o := range x.ran {
		if o.key == r.key {
			r.known = o
		}
	}
	err := r.awake(func() error {
		most, err := x.memory.during(func() error { return r.all(inputs, outputs) })
		if err == nil {
			r.observe(most)
		}
		return err
	})
	x.publish(len(x.ran))
	if err != nil {
		for _, t := range r.made {
			err = errors.Join(err, t.Close())
		}
		return err
	}
	maps.Copy(outputs, r.made)
	return nil
}

// awake keeps the memory of the model awake during a function. Errors: CodeBusy if it sleeps.
func (x *sessions) awake(during func() error) error {
	for _, tag := range []string{ParametersTag, ArenaTag} {
		release, err := x.model.KeepAwake(tag)
		if err != nil {
			code := device.CodeOf(err)
			if code == device.CodeInvalidState {
				code = device.CodeBusy // somebody has put the memory to sleep through the pool
			}
			return device.Errorf(code, opRun, "%w", err)
		}
		defer release()
	}
	return during()
}

// all runs the session.
func (r *sessionRun) all(inputs, outputs map[string]*tensor.Tensor) (err error) {
	defer func() {
		err = settled(r.stream, err)
		if failed := r.end(); failed != nil {
			err = errors.Join(err, failed)
		}
	}()
	// The session works in this thread.
	if err := r.stream.Synchronize(device.Forever); err != nil {
		return err
	}
	for i := range r.program.inputs {
		in := &r.program.inputs[i]
		if err := r.addInput(in, inputs[in.name]); err != nil {
			return device.Errorf(device.CodeOf(err), opRun, "input %q: %w", in.name, err)
		}
	}
	for _, out := range r.program.outputs {
		if given, isWanted := outputs[out.name]; isWanted {
			if err := r.addOutput(out.name, given); err != nil {
				return device.Errorf(device.CodeOf(err), opRun, "output %q: %w", out.name, err)
			}
		}
	}
	done, err := r.session.Run(r.inputs, r.outputs)
	if err != nil {
		return err
	}
	defer done()
	for i := range r.outputs {
		if err := r.take(i, outputs[r.outputs[i].Name]); err != nil {
			return device.Errorf(device.CodeOf(err), opRun, "output %q: %w", r.outputs[i].Name, err)
		}
	}
	return r.stream.Synchronize(device.Forever)
}

// end ends what the run has used. The tensors over memory of the arena own none.
func (r *sessionRun) end() (failed error) {
	for _, t := range r.temporal {
		failed = errors.Join(failed, t.Close())
	}
	for _, addr := range r.scratch {
		r.memory.Free(addr)
	}
	for i := range r.uses {
		r.uses[i].End()
	}
	return failed
}

// addInput adds an input. from is nil if it has its default.
func (r *sessionRun) addInput(in *input, from *tensor.Tensor) error {
	b := compute.Bound{Name: in.name, Type: in.kind, Shape: in.lengths(r.dims)}
	if from != nil && in.table != nil {
		if err := readIndices(in, from, make([]byte, from.SizeBytes()), r.streamOf(from)); err != nil {
			return err
		}
	}
	if from != nil && r.isDirect(from, in.kind) {
		if err := r.use(from); err != nil {
			return err
		}
		b.Addr = from.Addr()
		r.inputs = append(r.inputs, b)
		return nil
	}
	to, err := r.scratchTensor(b)
	if err != nil {
		return err
	}
	b.Addr = to.Addr()
	r.inputs = append(r.inputs, b)
	if from != nil {
		return r.copy(to, from)
	}
	bytes, err := elementsByRule(in, to)
	if err != nil {
		return err
	}
	return to.Write(bytes, r.stream)
}

// isDirect states whether the session can use the memory of a tensor. A tensor without elements has no
// address.
func (r *sessionRun) isDirect(t *tensor.Tensor, kind dtype.DType) bool {
	layout := t.Layout()
	return t.Engine() == r.backend.Device() && t.Type() == kind && t.Packing() == "" && layout.IsContiguous() && layout.Elements() > 0
}

// use keeps a tensor until the end of the run.
func (r *sessionRun) use(t *tensor.Tensor) error {
	use, err := t.Use()
	if err != nil {
		if code := device.CodeOf(err); code == device.CodeInvalidState && !t.IsClosed() {
			return device.Errorf(device.CodeBusy, opRun, "%w", err)
		}
		return err
	}
	r.uses, r.reads = append(r.uses, use), append(r.reads, spanOf(t))
	return nil
}

// scratchTensor makes a tensor in the arena that ends with the run.
func (r *sessionRun) scratchTensor(b compute.Bound) (*tensor.Tensor, error) {
	layout, err := strided.Contiguous(b.Shape...)
	if err != nil {
		return nil, err
	}
	size, err := b.Type.Size(uint64(layout.Elements()))
	if err != nil {
		return nil, err
	}
	addr, err := r.memory.Alloc(max(size, 1))
	if err != nil {
		return nil, err
	}
	r.scratch = append(r.scratch, addr)
	return r.wrap(addr, size, b.Type, layout)
}

// wrap makes a tensor over memory of the arena that ends with the run.
func (r *sessionRun) wrap(addr device.Addr, size uint64, kind dtype.DType, layout strided.Layout) (*tensor.Tensor, error) {
	t, err := tensor.Wrap(tensor.Foreign{Engine: r.backend.Device(), Addr: addr, SizeBytes: size}, kind, layout)
	if err == nil {
		r.temporal = append(r.temporal, t)
	}
	return t, err
}

// addOutput adds an output that is wanted.
func (r *sessionRun) addOutput(name string, given *tensor.Tensor) error {
	b, target := compute.Bound{Name: name}, (*tensor.Tensor)(nil)
	// ONNX Runtime does not copy an input that is an output too.
	isInput := slices.ContainsFunc(r.inputs, func(in compute.Bound) bool { return in.Name == name })
	if shape, isKnown := r.knownShape(name); isKnown && !isInput {
		kind := r.valueOf(name).Type
		if given == nil {
			made, err := tensor.New(r.backend.Memory(), kind, shape, r.stream)
			if err != nil {
				return err
			}
			r.made[name] = made
			if err := r.stream.Synchronize(device.Forever); err != nil {
				return err
			}
			given = made
		}
		layout := given.Layout()
		isFree := !slices.ContainsFunc(r.reads, spanOf(given).overlaps)
		if r.isDirect(given, kind) && slices.Equal(layout.Shape(), shape) && !given.ReadOnly() && isFree {
			if err := r.use(given); err != nil {
				return err
			}
			target, b.Type, b.Shape, b.Addr = given, kind, shape, given.Addr()
		}
	}
	r.outputs, r.given = append(r.outputs, b), append(r.given, target)
	return nil
}

// valueOf returns an output of the session.
func (x *sessions) valueOf(name string) compute.GraphValue {
	for _, v := range x.session.Outputs() {
		if v.Name == name {
			return v
		}
	}
	return compute.GraphValue{}
}

func (r *sessionRun) knownShape(name string) (shape []int64, isKnown bool) {
	if r.known != nil {
		shape, isKnown = r.known.outputs[name]
	}
	return shape, isKnown
}

// take copies an output that the session has made. given is nil if the run makes the tensor.
func (r *sessionRun) take(at int, given *tensor.Tensor) error {
	b := &r.outputs[at]
	if r.given[at] != nil {
		return nil
	}
	layout, err := strided.Contiguous(b.Shape...)
	if err != nil {
		return err
	}
	size, err := b.Type.Size(uint64(layout.Elements()))
	if err != nil {
		return err
	}
	if r.inspect != nil {
		if size == 0 {
			return nil
		}
		from, err := r.wrap(b.Addr, size, b.Type, layout)
		if err != nil {
			return err
		}
		return r.inspect(b.Name, from)
	}
	if given == nil {
		given = r.made[b.Name]
	}
	if given == nil {
		if given, err = tensor.New(r.backend.Memory(), b.Type, b.Shape, r.stream); err != nil {
			return err
		}
		r.made[b.Name] = given
	}
	have := given.Layout()
	if given.Type() != b.Type || !slices.Equal(have.Shape(), b.Shape) {
		return invalid("it is %s, and the result is %s", describe(given), b.Type.String()+strided.Text(b.Shape))
	}
	if size == 0 {
		return nil
	}
	from, err := r.wrap(b.Addr, size, b.Type, layout)
	if err != nil {
		return err
	}
	return r.copy(given, from)
}

// streamOf returns the stream of a copy from or to a tensor: that of the run, or the default stream of another
// device.
func (r *sessionRun) streamOf(t *tensor.Tensor) device.Stream {
	if t.Engine() == r.backend.Device() {
		return r.stream
	}
	return t.Engine().Device().DefaultStream()
}

// copy copies elements between tensors of any types and devices, and waits. What the device cannot do goes
// through memory of the host.
func (r *sessionRun) copy(to, from *tensor.Tensor) error {
	isHost := to.Engine().Info().HostAddressable
	if to.Engine() == from.Engine() && (isHost || to.Type() == from.Type()) {
		if err := to.Copy(from, r.streamOf(to)); err != nil {
			return err
		}
		return r.streamOf(to).Synchronize(device.Forever)
	}
	bytes := make([]byte, from.SizeBytes())
	if err := from.Read(bytes, r.streamOf(from)); err != nil {
		return err
	}
	if from.Type() != to.Type() {
		converted := make([]byte, to.SizeBytes())
		if err := dtype.Convert(to.Type(), converted, from.Type(), bytes); err != nil {
			return err
		}
		bytes = converted
	}
	return to.Write(bytes, r.streamOf(to))
}

// observe remembers what the run has shown, in place of the oldest if there is too much.
func (r *sessionRun) observe(mostBytes uint64) {
	x := r.sessions
	if r.known == nil {
		r.known = &observed{key: r.key, dims: maps.Clone(r.dims), outputs: map[string][]int64{}}
		if r.known.dims == nil {
			r.known.dims = map[string]uint64{}
		}
		x.count(func(c *Counters) { c.Plans++ })
		if len(x.ran) >= x.mostShapes {
			x.ran = slices.Delete(x.ran, 0, 1)
			x.count(func(c *Counters) { c.Evictions++ })
		}
	} else {
		x.ran = slices.DeleteFunc(x.ran, func(o *observed) bool { return o == r.known })
	}
	x.ran = append(x.ran, r.known)
	r.known.arenaBytes = max(r.known.arenaBytes, mostBytes)
	for _, b := range r.outputs {
		if slices.Equal(r.stated(b.Name), b.Shape) {
			r.known.outputs[b.Name] = b.Shape
		}
	}
}

// stated returns the shape of an output that follows from the lengths of the dimensions; nil: none does.
func (r *sessionRun) stated(name string) []int64 {
	v := r.valueOf(name)
	shape := slices.Clone(v.Shape)
	for axis, length := range shape {
		if length >= 0 {
			continue
		}
		known, isKnown := r.dims[v.Dims[axis]]
		if !isKnown {
			return nil
		}
		shape[axis] = int64(known)
	}
	return shape
}

// trial runs the session once.
func (x *sessions) trial(_ context.Context, dims map[string]uint64) (issue *ir.Issue, err error) {
	stream := x.backend.Device().Device().DefaultStream()
	err = x.inspect(dims, func(name string, t *tensor.Tensor) error {
		isFinite, err := isFinite(t, stream)
		if err == nil && !isFinite {
			issue = notFinite(name)
		}
		return err
	})
	x.ran = nil
	if err == nil && !x.needsArena() {
		err = x.arena.free()
	}
	x.publish(0)
	return issue, err
}

func (x *sessions) rehearse(_ context.Context, dims map[string]uint64) error {
	return x.inspect(dims, func(string, *tensor.Tensor) error { return nil })
}

// inspect runs the session with defaults and zeros. A function gets the outputs, which are copied nowhere.
func (x *sessions) inspect(dims map[string]uint64, of func(name string, t *tensor.Tensor) error) error {
	outputs := map[string]*tensor.Tensor{}
	for _, out := range x.program.outputs {
		outputs[out.name] = nil
	}
	// An output of a known shape would get a tensor of its own.
	x.ran = nil
	stream := x.backend.Device().Device().DefaultStream()
	return x.start(&sessionRun{sessions: x, stream: stream, dims: dims, key: keyOf(dims), inspect: of}, nil, outputs)
}
