package library

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/model"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/vmm"
)

// Executors builds models, and finds their executors by handles and by names. It is a part of a Library.
type Executors struct {
	library *Library
	builder model.Builder

	// mu guards named. It is a leaf.
	mu sync.Mutex
	// named has a handle for each name.
	named map[string]*Executor
}

// Executor finds an executor by its handle. Errors: CodeBusy for one that is being built, whose handle only
// the leak report has shown.
func (x *Executors) Executor(op string, id uint64) (*Executor, error) {
	e, err := find(x.library, x.library.registry.executors, op, id)
	switch {
	case err != nil:
		return nil, err
	case !isOver(e.built.over):
		return nil, device.Errorf(device.CodeBusy, op, "executor handle %#x: model %q is being built", id, e.built.id).OfModel(e.built.id)
	case e.built.executor == nil:
		return nil, endedError(e)
	}
	return e, nil
}

// BuildRequest states what to build, and where.
type BuildRequest struct {
	// Model is the id in the elastic pool; "": the name of the folder, the file or the definition.
	Model string
	// Path is a folder or a file. Without it, Definition is the text of the model, and Weights the handle
	// of its tensors; 0: they are initialised.
	Path                 string
	Definition           []byte
	Weights              uint64
	Compute, ElasticPool uint64
	Limits               vmm.ModelLimits
	Options              []byte
	// Token is the token of the callbacks of the build, and not 0. A thread that runs one has it.
	Token uint64
	// Progress is nil without a callback.
	Progress func(model.Progress) (goesOn bool)
}

// Build builds a model, and returns the handle of its executor. Errors: those of model.Builder.Build.
func (x *Executors) Build(r BuildRequest) (uint64, error) {
	const op = "executor.build"
	c, err := x.library.Computes.Compute(op, r.Compute)
	if err != nil {
		return 0, err
	}
	p, err := x.library.ElasticPool(op, r.ElasticPool)
	if err != nil {
		return 0, err
	}
	if p.device != c.device {
		return 0, device.Errorf(device.CodeInvalidArgument, op, "the elastic pool is on %v, and the backend on %v", p.device.Engine.ID(), c.device.Engine.ID())
	}
	var w *Weights
	if r.Weights != 0 {
		if w, err = x.library.Loader.Weights(op, r.Weights); err != nil {
			return 0, err
		}
	}
	request := model.Request{ID: r.Model, Path: r.Path, Backend: c.Backend, Pool: p.Elastic, Limits: r.Limits}
	if request.Options, err = model.ParseOptions(r.Options); err != nil {
		return 0, err
	}
	switch {
	case r.Path != "" && (r.Definition != nil || r.Weights != 0):
		return 0, device.Errorf(device.CodeInvalidArgument, op, "request has a path, and a definition or weights: want one of them")
	case r.Path == "" && r.Definition == nil:
		return 0, device.Errorf(device.CodeInvalidArgument, op, "request has no path and no definition")
	case r.Definition != nil:
		if request.Definition, err = x.parsed(r.Definition); err != nil {
			return 0, err
		}
	}
	if request.ID == "" {
		request.ID = nameOf(&request)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b := &builtModel{
		id: request.ID, device: c.device, compute: c, pool: p, token: r.Token, cancel: cancel, over: make(chan struct{}), handles: 1,
		from: ExportRequest{Path: r.Path, Definition: slices.Clone(r.Definition), Weights: r.Weights}, options: request.Options,
	}
	ctx = context.WithValue(ctx, callerKey{}, caller{device: b.device, token: b.token})
	if r.Progress != nil {
		request.Progress = func(now model.Progress) {
			x.library.running.during(b.device, func() {
				if !r.Progress(now) {
					cancel()
				}
			})
		}
	}
	if w != nil {
		end, err := w.begin(&reading{what: "a build", token: b.token, cancel: cancel})
		if err != nil {
			return 0, err
		}
		defer end()
		request.Weights = w.source.Source
	}
	e, err := x.begin(op, b)
	if err != nil {
		return 0, err
	}
	func() {
		defer close(b.over) // also after a panic, because forced ends wait for it
		b.executor, err = x.builder.Build(ctx, request)
	}()
	if err == nil {
		return e.id(), nil
	}
	p.held.disown(b)
	if _, gone := x.library.registry.executors.Remove(e.id()); gone != nil {
		err = CallError(err, c)
	}
	return 0, on(err, c.device.Engine)
}

// nameOf is the id of a model whose request states none.
func nameOf(r *model.Request) string {
	if r.Path == "" {
		return r.Definition.Metadata.Name
	}
	base := filepath.Base(filepath.Clean(r.Path))
	if full, err := filepath.Abs(r.Path); err == nil {
		base = filepath.Base(full)
	}
	return strings.TrimSuffix(strings.TrimSuffix(base, ".gguf"), ".onnx")
}

// begin assigns a handle to a build, so that a forced end of its device or pool cancels the build.
func (x *Executors) begin(op string, b *builtModel) (*Executor, error) {
	if err := b.device.pass(op); err != nil {
		return nil, err
	}
	defer b.device.gate.exit()
	if err := b.pool.held.own(op, b); err != nil {
		return nil, on(err, b.device.Engine)
	}
	e := &Executor{built: b}
	if _, err := insert(x.library, x.library.registry.executors, e); err != nil {
		b.pool.held.disown(b)
		return nil, on(err, b.device.Engine)
	}
	return e, nil
}

// AddName gives an executor a name, which keeps its model. Errors: CodeAlreadyExists,
// CodeInvalidArgument.
func (e *Executor) AddName(name string) error {
	const op = "executor.add_name"
	x := &e.library.Executors
	if name == "" {
		return device.Errorf(device.CodeInvalidArgument, op, "name is empty")
	}
	made, err := x.another(op, e.built, name)
	if err != nil {
		return err
	}
	x.mu.Lock()
	for known, other := range x.named {
		if known == name || other.built == e.built {
			err = device.Errorf(device.CodeAlreadyExists, op, "the name %q is that of model %q already", known, other.built.id)
		}
	}
	if err == nil {
		if x.named == nil {
			x.named = map[string]*Executor{}
		}
		x.named[name] = made
	}
	x.mu.Unlock()
	if err != nil {
		// The caller's handle may have ended meanwhile. Then this one is the last, and closes the model.
		err = errors.Join(err, made.Destroy(true))
	}
	return err
}

// another assigns a further handle to a model.
func (x *Executors) another(op string, b *builtModel, name string) (*Executor, error) {
	if err := b.device.pass(op); err != nil {
		return nil, err
	}
	defer b.device.gate.exit()
	if !b.keep() {
		return nil, device.Errorf(device.CodeInvalidHandle, op, "the executor of model %q is being ended", b.id)
	}
	e := &Executor{built: b, name: name}
	if _, err := insert(x.library, x.library.registry.executors, e); err != nil {
		// The other handles may have ended meanwhile.
		return nil, errors.Join(err, b.leave(true))
	}
	return e, nil
}

// forget ends the name of a handle. false: the handle has no name.
func (x *Executors) forget(e *Executor) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e.name == "" || x.named[e.name] != e {
		return false
	}
	delete(x.named, e.name)
	return true
}

// withName finds the handle of a name.
func (x *Executors) withName(op, name string) (*Executor, error) {
	if _, err := x.library.started(op); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.named[name]; e != nil {
		return e, nil
	}
	return nil, device.Errorf(device.CodeNotFound, op, "no executor has the name %.64q", name)
}

// Find returns a further handle of the executor with a name. Errors: CodeNotFound.
func (x *Executors) Find(name string) (uint64, error) {
	const op = "executor.find"
	e, err := x.withName(op, name)
	if err != nil {
		return 0, err
	}
	made, err := x.another(op, e.built, "")
	if err != nil {
		return 0, err
	}
	return made.id(), nil
}

// RemoveName ends a name, and returns its handle. Errors: CodeNotFound.
func (x *Executors) RemoveName(name string) (uint64, error) {
	for {
		e, err := x.withName("executor.remove_name", name)
		if err != nil {
			return 0, err
		}
		// Only one of several callers gets the handle.
		if x.forget(e) {
			return e.id(), nil
		}
	}
}

// namedInfo is the state of an executor with its name.
type namedInfo struct {
	Name string `json:"registered_name"`
	model.Info
}

// ListJSON describes the executors that have a name.
func (x *Executors) ListJSON() ([]byte, error) {
	const op = "executors.json"
	if _, err := x.library.started(op); err != nil {
		return nil, err
	}
	x.mu.Lock()
	named := maps.Clone(x.named)
	x.mu.Unlock()
	list := []namedInfo{}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		list = append(list, namedInfo{name, named[name].built.executor.Info()})
	}
	return encode(op, map[string]any{"executors": list})
}

// NamedTensor is a tensor of a run. ID is 0 for an output that the run makes.
type NamedTensor struct {
	Name string
	ID   uint64
}

// Run runs the model. It replaces outputs with the id 0 by the tensors that it makes. timeout bounds the
// wait for other calls and for a wake; 0: the call does not wait. Errors: those of model.Executor.Run.
func (e *Executor) Run(inputs, outputs []NamedTensor, stream uint64, timeout time.Duration) error {
	const op = "executor.run"
	c := e.built.compute
	queue, err := e.library.registry.streamOrDefault(op, stream, c.device)
	if err != nil {
		return err
	}
	from, err := e.tensors(op, "inputs", inputs, false)
	if err != nil {
		return err
	}
	to, err := e.tensors(op, "outputs", outputs, true)
	if err != nil {
		return err
	}
	ctx, done := within(timeout)
	defer done()
	if err := e.built.executor.Run(ctx, from, to, model.RunOptions{NoWait: timeout == 0, Stream: queue}); err != nil {
		return e.library.registry.callErrorOn(stream, err, e)
	}
	made, ids := make([]*tensor.Tensor, len(outputs)), make([]uint64, len(outputs))
	for at := range outputs {
		made[at], ids[at] = to[outputs[at].Name], outputs[at].ID
	}
	if err := c.give(op, made, ids); err != nil {
		return err
	}
	for at := range outputs {
		outputs[at].ID = ids[at]
	}
	return nil
}

// tensors finds the tensors of a run.
func (e *Executor) tensors(op, argument string, list []NamedTensor, mayBeMade bool) (map[string]*tensor.Tensor, error) {
	found := make(map[string]*tensor.Tensor, len(list))
	for at, each := range list {
		if _, isTwice := found[each.Name]; isTwice {
			return nil, device.Errorf(device.CodeInvalidArgument, op, "%s[%d]: %q is named twice", argument, at, each.Name)
		}
		if each.ID == 0 && mayBeMade {
			found[each.Name] = nil
			continue
		}
		t, err := e.library.Tensors.Tensor(op, each.ID)
		if err != nil {
			return nil, err
		}
		if err := t.usable(op); err != nil {
			return nil, err
		}
		found[each.Name] = t.tensor
	}
	return found, nil
}

// PlanJSON plans the activations for lengths of the dimensions. Errors: those of model.Executor.Plan.
func (e *Executor) PlanJSON(dimensions []byte) ([]byte, error) {
	dims, err := dimensionsOf("executor.plan_json", dimensions)
	if err != nil {
		return nil, err
	}
	planned, err := e.built.executor.Plan(context.Background(), dims)
	if err != nil {
		return nil, err
	}
	return planned.JSON()
}

// InfoJSON describes the executor.
func (e *Executor) InfoJSON() ([]byte, error) {
	return encode("executor.info_json", e.built.executor.Info())
}

// DefinitionJSON returns the definition that the executor runs. Errors: those of model.Executor.Definition.
func (e *Executor) DefinitionJSON() ([]byte, error) {
	definition, err := e.built.executor.Definition()
	if err != nil {
		return nil, err
	}
	return definition.JSON()
}

// ReportJSON states what the build did.
func (e *Executor) ReportJSON() ([]byte, error) {
	return encode("executor.report_json", e.built.executor.Report())
}

// Sleep puts the model to sleep. Errors: those of model.Executor.Sleep.
func (e *Executor) Sleep(r SleepRequest) (vmm.SleepReport, error) {
	const op = "executor.sleep"
	if _, err := e.library.registry.streamOrDefault(op, r.StreamHandle, e.built.device); err != nil {
		return vmm.SleepReport{}, err
	}
	if r.Tag != "" || r.StreamHandle != 0 {
		return vmm.SleepReport{}, device.Errorf(device.CodeInvalidArgument, op, "config has a tag or a stream: a model sleeps as a whole, after all work that uses it")
	}
	ctx, done := within(r.Timeout)
	defer done()
	report, err := e.built.executor.Sleep(ctx, model.SleepOptions{
		Backing: r.Backing, Dir: r.Dir, Streams: r.Streams, NoWait: r.NoWait || r.Timeout == 0,
	})
	return vmm.SleepReport{Bytes: report.Bytes, Path: report.Path, Ns: report.Ns}, err
}

// Wake wakes the model. Errors: those of model.Executor.Wake.
func (e *Executor) Wake(r WakeRequest) (vmm.WakeReport, error) {
	if r.Tag != "" {
		return vmm.WakeReport{}, device.Errorf(device.CodeInvalidArgument, "executor.wake", "config has the tag %q: a model wakes as a whole", r.Tag)
	}
	ctx, done := within(r.Timeout)
	defer done()
	return e.built.executor.Wake(ctx, r.resolve())
}
