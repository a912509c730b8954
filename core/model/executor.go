package model

import (
	"context"
	"errors"
	"sync"
	"time"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/onnx"
	"ferrum_mem/core/vmm"
	"ferrum_mem/core/weights"
)

// Settings state where a model is built, and from what.
type Settings struct {
	// ID is the id of the model in the elastic pool and in errors.
	ID string
	// Definition is valid, and is not changed afterwards.
	Definition *ir.Model
	// Weights are the tensors of the parameters; nil: all parameters are initialised. The caller closes
	// them after the build.
	Weights *weights.Source
	// Backend computes, and Pool has the memory. Both are on one device, and stay open until the model is
	// closed.
	Backend *backend.Backend
	Pool    *vmm.Elastic
	// Limits are those of the model in the pool.
	Limits vmm.ModelLimits
	// Fill states how the parameters are placed. Plain keeps them as they are stored; otherwise matrices
	// are in the layout that the backend reads fastest.
	Fill  FillOptions
	Plain bool
	// NoTiles computes all values as a whole. Otherwise steps run tile by tile where that makes the arena smaller.
	NoTiles bool
	// Shapes is how many shapes stay planned, 1 to MaxShapes; 0: DefaultShapes. The one that was not used
	// for the longest time is replaced.
	Shapes int

	// file is the open file of the model, for an engine of graphs; nil: Definition is the model. undefined
	// states why it has no definition.
	file      *onnx.File
	undefined error
}

const (
	// DefaultShapes and MaxShapes are numbers of shapes that stay planned.
	DefaultShapes = 16
	MaxShapes     = 4096
)

// Executor is a built model: its parameters are in memory, and it runs. All methods are safe for
// concurrent use. One run, plan, sleep or wake is in progress at a time; the others wait for it, or return
// CodeBusy if they must not wait.
type Executor struct {
	id         string
	definition *ir.Model
	// undefined states why the model of a file has no definition; then definition has its name alone.
	undefined error
	backend   *backend.Backend
	pool      *vmm.Elastic
	model     *vmm.Model
	program   *program
	report    Report

	// turn has room for one: who has put its element in may use the fields down to mu.
	turn              chan struct{}
	parameters, arena *zone
	computation       computation
	mostShapes        int
	// isUnregistered states that the pool has no model of this executor any more.
	isUnregistered bool

	mu       sync.Mutex
	isClosed bool
	// awake is nil unless the model sleeps, and is closed when it wakes.
	awake    chan struct{}
	counters Counters
	// arenaBytes and shapesNow are the size of the arena and the number of shapes, for Info.
	arenaBytes uint64
	shapesNow  int
}

// Counters count what a model has done.
type Counters struct {
	// Runs and Failures count calls of Run.
	Runs     uint64 `json:"runs"`
	Failures uint64 `json:"failures"`
	// Plans counts planned shapes, and Evictions those that were replaced by others.
	Plans     uint64 `json:"plans"`
	Evictions uint64 `json:"evictions"`
	// RunNs is the time of all successful runs.
	RunNs uint64 `json:"run_ns"`
}

// ID returns the id of the model.
func (x *Executor) ID() string { return x.id }

// Definition returns the definition that runs: after the passes. The caller does not change it. Errors:
// CodeUnsupported for a model of a file with operators that a definition does not have.
func (x *Executor) Definition() (*ir.Model, error) {
	if x.undefined != nil {
		return nil, x.fail(device.CodeOf(x.undefined), "model.definition", "%w", x.undefined)
	}
	return x.definition, nil
}

// Backend returns the backend that computes.
func (x *Executor) Backend() *backend.Backend { return x.backend }

// Report states what the build did. It is empty for a model that New has built.
func (x *Executor) Report() Report { return x.report }

func (x *Executor) fail(code device.Code, op, format string, values ...any) *device.Error {
	return aboutModel(x.id, code, op, format, values...).On(x.backend.Device().ID())
}

// take waits for the turn. The caller calls leave.
func (x *Executor) take(ctx context.Context, op string, noWait bool) error {
	select {
	case x.turn <- struct{}{}:
		return nil
	default:
	}
	if noWait || !x.backend.Device().MayWait() {
		return x.fail(device.CodeBusy, op, "another call uses it")
	}
	select {
	case x.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return x.ended(ctx, op)
	}
}

// ended is the error of a context that has ended while a call waited.
func (x *Executor) ended(ctx context.Context, op string) error {
	err := ended(ctx, op, nil)
	return x.fail(device.CodeOf(err), op, "%w", err)
}

func (x *Executor) leave() { <-x.turn }

// enter waits for the turn of a call that needs the model awake. The caller calls leave.
func (x *Executor) enter(ctx context.Context, op string, noWait bool) error {
	for {
		if err := x.take(ctx, op, noWait); err != nil {
			return err
		}
		x.mu.Lock()
		isClosed, awake := x.isClosed, x.awake
		x.mu.Unlock()
		if !isClosed && awake == nil {
			return nil
		}
		x.leave()
		switch {
		case isClosed:
			return x.closed(op)
		case noWait || !x.backend.Device().MayWait():
			return x.fail(device.CodeBusy, op, "it sleeps")
		}
		select {
		case <-awake:
		case <-ctx.Done():
			return x.ended(ctx, op)
		}
	}
}

func (x *Executor) closed(op string) error {
	return x.fail(device.CodeInvalidState, op, "it has been closed")
}

// IsClosed states whether the model is closed.
func (x *Executor) IsClosed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.isClosed
}

// HasEnded states that the model is closed, or its backend is.
func (x *Executor) HasEnded() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.isClosed || x.backend.HasEnded()
}

// count changes the counters.
func (x *Executor) count(change func(*Counters)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change(&x.counters)
}

// publish states the size of the arena and the number of shapes. The caller has the turn.
func (x *Executor) publish(shapes int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.arenaBytes, x.shapesNow = x.arena.bytes, shapes
}

// Plan computes the memory of the activations for lengths of the dynamic dimensions, such as
// {"batch": 8, "sequence": 128}. It allocates no memory of the device and runs nothing; the model may
// sleep. Errors: CodeInvalidArgument for a dimension that is missing or does not exist, and for a length
// that the model does not take; CodeInvalidState for a closed model; those of the operators; CodeCancelled
// and CodeTimeout for ctx.
func (x *Executor) Plan(ctx context.Context, dims map[string]uint64) (*MemoryPlan, error) {
	if err := x.take(ctx, opPlan, false); err != nil {
		return nil, err
	}
	defer x.leave()
	if x.HasEnded() {
		return nil, x.closed(opPlan)
	}
	return x.plan(ctx, dims)
}

// plan plans a shape. The caller has the turn, or is the only one that knows the model.
func (x *Executor) plan(ctx context.Context, dims map[string]uint64) (*MemoryPlan, error) {
	err := x.checkDims(opPlan, dims)
	if err == nil {
		var p *MemoryPlan
		if p, err = x.computation.plan(ctx, dims); err == nil {
			return p, nil
		}
	}
	return nil, x.fail(device.CodeOf(err), opPlan, "%w", err)
}

// Close frees the memory of the model. Without force it returns CodeBusy while another call uses it; with
// force it waits for that call. Calls that wait for the model to wake fail. After an error of the device
// it can be called again. Errors: CodeInvalidState for a closed model.
func (x *Executor) Close(force bool) error {
	if err := x.take(context.Background(), opClose, !force); err != nil {
		return err
	}
	defer x.leave()
	x.mu.Lock()
	wasClosed := x.isClosed && x.isUnregistered
	x.isClosed = true
	if x.awake != nil {
		close(x.awake)
		x.awake = nil
	}
	x.mu.Unlock()
	if wasClosed {
		return x.closed(opClose)
	}
	if err := x.release(); err != nil {
		return x.fail(device.CodeOf(err), opClose, "%w", err)
	}
	return nil
}

// release frees everything. The caller has the turn, or is the only one that knows the model.
func (x *Executor) release() error {
	if x.computation != nil {
		if err := x.computation.close(); err != nil {
			return err
		}
	}
	for _, z := range []*zone{x.arena, x.parameters} {
		if z == nil {
			continue
		}
		if err := z.free(); err != nil && !errors.Is(err, device.CodeModelNotFound) {
			return err
		}
	}
	if x.isUnregistered || x.model == nil {
		return nil
	}
	if err := x.model.Synchronize(); err != nil {
		return err
	}
	if err := x.pool.Unregister(x.id, false); err != nil && !errors.Is(err, device.CodeModelNotFound) && !x.pool.HasEnded() {
		return err
	}
	x.isUnregistered = true
	return nil
}

// since returns the time since a moment in nanoseconds.
func since(start time.Time) uint64 { return uint64(max(time.Since(start), 0)) }
