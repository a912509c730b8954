package backend

import (
	"slices"
	"sync"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/tensor"
)

const (
	opSequenceAdd   = "sequence.add"
	opSequenceRun   = "sequence.run"
	opSequenceClose = "sequence.close"
)

// Sequence is operations with fixed tensors that run in one call. It keeps its tensors. All methods are
// safe for concurrent use; runs of one sequence follow one after the other.
type Sequence struct {
	backend *Backend
	// mu guards the fields below, and is not held while operations run.
	mu       sync.Mutex
	isClosed bool
	// steps have the address 0 as workspace if they share that of the sequence.
	steps []compute.Step
	// workspaceBytes is the largest workspace of a step that shares it.
	workspaceBytes uint64
	tensors        []*tensor.Tensor
	// bound is nil until a run has joined the steps.
	bound     *binding
	workspace workspace
	// running counts runs that are queued or in progress.
	running int

	// turn is held while operations run.
	turn sync.Mutex
	// releases is for reuse by the run with the turn.
	releases []func()
}

// binding is the joined steps.
type binding struct {
	run   func() error
	group *tensor.Group
	steps uint64
}

// NewSequence creates an empty sequence. Errors: CodeInvalidHandle for a closed backend.
func (b *Backend) NewSequence() (*Sequence, error) {
	if err := b.enter("sequence.create"); err != nil {
		return nil, err
	}
	defer b.gate.exit()
	b.sequences.Add(1)
	return &Sequence{backend: b}, nil
}

// Backend returns the backend of the sequence.
func (s *Sequence) Backend() *Backend { return s.backend }

// HasEnded states that the sequence is closed, or its backend is.
func (s *Sequence) HasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isClosed || s.backend.HasEnded()
}

// Length returns the number of operations.
func (s *Sequence) Length() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steps)
}

// enter begins a call. The caller calls backend.gate.exit.
func (s *Sequence) enter(op string) error { return s.backend.enter(op) }

func (s *Sequence) ended(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "the sequence has been closed").On(s.backend.device.ID())
}

// Add adds a run of an operation at the end. Inputs and outputs are as in Op.Run, and an output that
// it makes can be the input of the next operation at once. The elements of a shape, axes or sizes are
// read now, and stay as they are. The sequence keeps the tensors, which may be closed. Add may wait for the
// default stream. Errors: as of Op.Run; CodeInvalidArgument for an operation of another backend;
// CodeBusy while a run is queued or in progress. After an error the sequence is as before.
func (s *Sequence) Add(o *Op, inputs, outputs []*tensor.Tensor) error {
	return s.AddIn(o, inputs, outputs, nil)
}

// AddIn is Add with a workspace: a contiguous tensor at a multiple of 64 bytes that overlaps no input
// and no output. It has at least Prediction.WorkspaceBytes. For nil the operations of the sequence share
// a workspace in the memory of the backend.
func (s *Sequence) AddIn(o *Op, inputs, outputs []*tensor.Tensor, workspace *tensor.Tensor) error {
	if err := s.enter(opSequenceAdd); err != nil {
		return err
	}
	defer s.backend.gate.exit()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.isClosed:
		return s.ended(opSequenceAdd)
	case s.running > 0:
		return device.Errorf(device.CodeBusy, opSequenceAdd, "a run of the sequence is queued or in progress").On(s.backend.device.ID())
	case o.backend != s.backend:
		return device.Errorf(device.CodeInvalidArgument, opSequenceAdd, "the operation %s is of another backend", o.Name()).On(s.backend.device.ID())
	}
	if err := o.enter(opSequenceAdd); err != nil {
		return err
	}
	r := o.take()
	made, err := s.add(r, inputs, outputs, workspace)
	if err == nil {
		r.give(outputs)
	} else {
		closeAll(r.made)
		closeAll(made)
	}
	r.end()
	return s.backend.note(err)
}

// closeAll closes tensors. Each one shares its memory with another open tensor, or has memory that no
// work uses.
func closeAll(tensors []*tensor.Tensor) {
	for _, t := range tensors {
		if t != nil {
			_ = t.Close() // what a failed free keeps is freed with the backend
		}
	}
}

// add adds a step. It returns the tensors that it has made for the sequence, which the caller closes after
// an error.
func (s *Sequence) add(r *run, inputs, outputs []*tensor.Tensor, workspace *tensor.Tensor) (kept []*tensor.Tensor, err error) {
	stream := s.backend.device.Device().DefaultStream()
	if err := r.match(inputs, outputs, stream); err != nil {
		return nil, err
	}
	step := compute.Step{Plan: r.plan.plan}
	if workspace != nil {
		if err := r.checkWorkspace(workspace, inputs, outputs); err != nil {
			return nil, err
		}
		step.Workspace = workspace.Addr()
	}
	if err := r.makeOutputs(stream); err != nil {
		return nil, err
	}
	if slices.Contains(r.toMake, true) {
		// Other streams may use the memory first.
		if err := stream.Synchronize(device.Forever); err != nil {
			return nil, err
		}
	}
	for _, t := range append(slices.Concat(inputs, outputs, r.made), workspace) {
		if t == nil || t == Unwanted {
			continue
		}
		same, err := t.Same()
		if err != nil {
			return kept, err
		}
		kept = append(kept, same)
	}
	s.unbind()
	s.tensors = append(s.tensors, kept...)
	step.Inputs, step.Outputs = slices.Clone(r.from), slices.Clone(r.to)
	s.steps = append(s.steps, step)
	if workspace == nil {
		s.workspaceBytes = max(s.workspaceBytes, r.plan.workspaceBytes)
	}
	return kept, nil
}

// checkWorkspace checks a workspace of the caller, which the run then uses.
func (r *run) checkWorkspace(workspace *tensor.Tensor, inputs, outputs []*tensor.Tensor) error {
	if err := r.use(workspace, false); err != nil {
		return r.op.about("tensor", "workspace", err)
	}
	layout := workspace.Layout()
	first, end := workspace.Reach()
	switch {
	case workspace.ReadOnly():
		return r.op.about("tensor", "workspace", device.Errorf(device.CodePermissionDenied, opSequenceAdd, "the memory of the tensor is read-only"))
	case workspace.Packing() != "" || !layout.IsContiguous():
		return r.op.wrong("the workspace is not contiguous")
	case workspace.SizeBytes() < r.plan.workspaceBytes:
		return r.op.wrong("the workspace has %v, and %v are needed", device.Size(workspace.SizeBytes()), device.Size(r.plan.workspaceBytes))
	case workspace.SizeBytes() > 0 && workspace.Addr()%workspaceAlignmentBytes != 0:
		return r.op.wrong("the workspace is at %#x, which is not a multiple of %d", uint64(workspace.Addr()), workspaceAlignmentBytes)
	}
	for _, t := range slices.Concat(inputs, outputs) {
		if t == nil || t == Unwanted {
			continue
		}
		if start, stop := t.Reach(); first < stop && start < end {
			return r.op.wrong("the workspace overlaps an input or an output")
		}
	}
	return nil
}

// unbind returns the workspace. The caller holds mu, and no run is in progress.
func (s *Sequence) unbind() {
	s.backend.memory.workspaces.put(s.workspace)
	s.bound, s.workspace = nil, workspace{}
}

// Run runs all operations in their order. The work is ordered by stream as in Op.Run. The first run
// after an Add makes the workspace, for which it may wait for the stream; later ones allocate nothing
// if the stream is idle. Errors: CodeBusy while the memory of a tensor sleeps; CodeInvalidState for a
// closed sequence; CodeInvalidHandle for a closed backend; CodeOutOfMemory; those of the operations and
// of the stream. If an operation fails, those before it have run, and those after it have not. A host
// function that belongs to a run of the sequence must not run it.
func (s *Sequence) Run(stream device.Stream) error {
	if err := s.enter(opSequenceRun); err != nil {
		return err
	}
	if stream == nil {
		stream = s.backend.device.Device().DefaultStream()
	}
	isQueued, err := s.start(stream)
	if !isQueued {
		s.backend.gate.exit()
	}
	return s.backend.note(err)
}

// start runs or queues the operations.
func (s *Sequence) start(stream device.Stream) (isQueued bool, err error) {
	bound, err := s.begin(stream)
	if err != nil || bound.steps == 0 {
		return false, err
	}
	atOnce, err := s.backend.mayRunNow(stream)
	if err != nil {
		s.finish()
		return false, err
	}
	if atOnce {
		defer s.finish()
		s.turn.Lock()
		defer s.turn.Unlock()
		s.releases, err = bound.group.Hold(s.releases[:0])
		if err != nil {
			return false, err
		}
		return false, s.compute(bound, s.releases)
	}
	releases, err := bound.group.Hold(nil)
	if err != nil {
		s.finish()
		return false, err
	}
	if err := device.QueueHostWork(stream, func() error {
		defer s.backend.gate.exit()
		defer s.finish()
		s.turn.Lock()
		defer s.turn.Unlock()
		return s.backend.note(s.compute(bound, releases))
	}); err != nil {
		releaseAll(releases)
		s.finish()
		return false, err
	}
	return true, nil
}

// compute runs the operations and ends the holds. The caller has the turn.
func (s *Sequence) compute(bound *binding, releases []func()) error {
	defer releaseAll(releases)
	if err := bound.run(); err != nil {
		return device.Errorf(device.CodeOf(err), opSequenceRun, "%w", err).On(s.backend.device.ID())
	}
	s.backend.completed.Add(bound.steps)
	return nil
}

func releaseAll(releases []func()) {
	for _, release := range releases {
		release()
	}
}

// begin counts a run, and joins the steps if that was not done yet.
func (s *Sequence) begin(stream device.Stream) (*binding, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed {
		return nil, s.ended(opSequenceRun)
	}
	if s.bound == nil {
		if err := s.bind(stream); err != nil {
			return nil, err
		}
	}
	if s.bound.steps > 0 {
		s.running++
	}
	return s.bound, nil
}

// finish ends a run.
func (s *Sequence) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
}

// bind joins the steps. The caller holds mu.
func (s *Sequence) bind(stream device.Stream) error {
	space, err := s.backend.memory.workspaces.take(s.workspaceBytes, stream)
	if err != nil {
		return device.Errorf(device.CodeOf(err), opSequenceRun, "the workspace of the sequence: %w", err).On(s.backend.device.ID())
	}
	if space.isFresh {
		// Later runs may be on other streams.
		if err := stream.Synchronize(device.Forever); err != nil {
			s.backend.memory.workspaces.put(space)
			return err
		}
		space.isFresh = false
	}
	steps := slices.Clone(s.steps)
	for i := range steps {
		if steps[i].Workspace == 0 {
			steps[i].Workspace = space.addr
		}
	}
	run, err := s.backend.bind(steps)
	if err != nil {
		s.backend.memory.workspaces.put(space)
		return device.About(s.backend.device.ID(), err)
	}
	s.workspace = space
	s.bound = &binding{run: run, group: tensor.NewGroup(s.tensors), steps: uint64(len(s.steps))}
	return nil
}

// bind joins steps. The engine joins those between operators of the program.
func (b *Backend) bind(steps []compute.Step) (run func() error, err error) {
	var parts []func() error
	for len(steps) > 0 {
		count := 0
		for count < len(steps) && !isUser(steps[count].Plan) {
			count++
		}
		if count > 0 {
			part, err := b.engine.Bind(steps[:count])
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		} else {
			count = 1
			s := steps[0]
			parts = append(parts, func() error { return s.Plan.Run(s.Inputs, s.Outputs, s.Workspace) })
		}
		steps = steps[count:]
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return func() error {
		for _, part := range parts {
			if err := part(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// Close ends the sequence and its tensors. Errors: CodeInvalidState for a closed one; CodeBusy while a
// run is queued or in progress; those of the memory, after which it can be closed again.
func (s *Sequence) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.isClosed:
		return s.ended(opSequenceClose)
	case s.running > 0:
		return device.Errorf(device.CodeBusy, opSequenceClose, "a run of the sequence is queued or in progress").On(s.backend.device.ID())
	}
	s.unbind()
	s.steps, s.workspaceBytes = nil, 0
	for len(s.tensors) > 0 {
		last := len(s.tensors) - 1
		if err := s.tensors[last].Close(); err != nil {
			return err
		}
		s.tensors = s.tensors[:last]
	}
	s.isClosed = true
	s.backend.sequences.Add(-1)
	return nil
}
