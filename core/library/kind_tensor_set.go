package library

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm"
	"ferrum_mem/core/weights"
)

// TensorSet is a load with its loaded tensors.
type TensorSet struct {
	object
	// name is the name of the source.
	name string
	// devices are the devices of the memory. The list is empty for mapped and preloaded tensors.
	devices []*Device
	// places are the pools of the memory.
	places []tensorPlace
	// token is the token of the callback; 0: there is no callback.
	token uint64

	mu sync.Mutex
	// loading is nil before the load starts, and for a set that is not loaded. cancelled states
	// that Cancel was called.
	loading   *weights.Loading
	cancelled bool
	stop      context.CancelFunc

	// done and total count the bytes of a preload.
	done, total atomic.Uint64

	// over is closed when the load is over. The fields below are written before that.
	over      chan struct{}
	set       *weights.Set
	preloaded *weights.Preloaded
	err       error
	byName    map[string]int

	// source is kept open to release the pages of a preload; nil for other loads.
	source *sharedSource
	// using is held for reading by Check and by work on tensors, and for writing when the memory is
	// freed.
	using sync.RWMutex
	// held knows the tensors over the memory.
	held  tensorHolder
	ended atomic.Bool
}

// tensorPlace is a pool that holds tensors of a set. model is the model of an elastic pool. tag is that
// of the request; "": the pool's own.
type tensorPlace struct {
	holder     *tensorHolder
	model, tag string
	// isGone states that the pool, or the model, has ended.
	isGone func() bool
}

// tensorHolder is the part of a pool that knows the sets with tensors in it, and the tensors. A set has
// one too, for the tensors over its memory.
type tensorHolder struct {
	mu      sync.Mutex
	sets    map[*TensorSet]bool
	tensors map[*Tensor]bool
	caches  map[*KVCache]bool
	// models are the models of executors, by their ids.
	models map[string]*builtModel
}

// holderOf returns the part of a pool that knows its sets, or nil for a pool that cannot hold
// tensors.
func holderOf(m member) *tensorHolder {
	switch p := m.(type) {
	case *Pool:
		return &p.held
	case *VPool:
		return &p.held
	case *ElasticPool:
		return &p.held
	}
	return nil
}

func (h *tensorHolder) list(model string) (sets []*TensorSet) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.sets {
		inside := func(p tensorPlace) bool { return p.holder == h && (model == "" || p.model == model) }
		if slices.ContainsFunc(s.places, inside) {
			sets = append(sets, s)
		}
	}
	return sets
}

// await waits until no set is being loaded into memory of a tag in the pool or one of its models; tag "":
// of any. It is called before that memory goes to sleep. The sleep itself waits for loads that begin
// later (weights.Memory.KeepAwake), but not until their sets know the result, and it does not know on
// which threads their callbacks run.
func (h *tensorHolder) await(ctx context.Context, op, model, tag string, noWait bool) error {
	for _, s := range h.list(model) {
		asked := func(p tensorPlace) bool { return p.holder == h && (tag == "" || p.tag == "" || p.tag == tag) }
		if s.isLoaded() || !slices.ContainsFunc(s.places, asked) {
			continue
		}
		if err := s.notInside(op); err != nil {
			return err
		}
		late := device.Errorf(device.CodeTimeout, op, "tensor set handle %#x: its load runs, and writes the memory that is to sleep", s.id())
		if noWait {
			return late
		}
		select {
		case <-s.over:
		case <-ctx.Done():
			return late
		}
	}
	return nil
}

// vacate is called before a pool, or one of its models, is destroyed. Without force it returns
// CodeBusy if a tensor is there, or a set has tensors there. With force it ends the loads into that
// memory. The tensors and sets stay.
func (h *tensorHolder) vacate(op, model string, force bool) error {
	if err := h.endExecutors(op, model, force); err != nil {
		return err
	}
	if err := h.endCaches(op, model, force); err != nil {
		return err
	}
	if err := h.vacant(op, model); err != nil && !force {
		return err
	}
	sets := h.list(model)
	for _, s := range sets {
		if !force {
			return device.Errorf(device.CodeBusy, op, "tensor set handle %#x, loaded from %s, has its tensors there", s.id(), s.name)
		}
		if err := s.notInside(op); err != nil {
			return err
		}
	}
	for _, s := range sets {
		s.Cancel()
		<-s.over
	}
	return nil
}

// callersModel finds a model of the pool in which the program allocates, frees and sleeps itself. Errors:
// CodeInvalidState for the model of an executor.
func (h *tensorHolder) callersModel(op string, pool *vmm.Elastic, model string) (*vmm.Model, error) {
	h.mu.Lock()
	isOwned := h.models[model] != nil
	h.mu.Unlock()
	if isOwned {
		return nil, device.Errorf(device.CodeInvalidState, op, "model %q belongs to an executor, which owns its memory", model).OfModel(model)
	}
	return pool.Model(model)
}

// TensorSet finds a set by its handle.
func (l *Loader) TensorSet(op string, id uint64) (*TensorSet, error) {
	return find(l.library, l.library.registry.tensorSets, op, id)
}

func (s *TensorSet) hasEnded() bool { return s.ended.Load() }

func (s *TensorSet) known() (uint64, *engine.Engine) {
	if len(s.devices) == 0 {
		return s.id(), nil
	}
	return s.id(), s.devices[0].Engine
}

func (s *TensorSet) of(d *Device) bool {
	if d == nil {
		return len(s.devices) == 0
	}
	return slices.Contains(s.devices, d)
}

func (s *TensorSet) leak() leak {
	_, e := s.known()
	found := s.alive("tensor_set", e)
	found.Tag = s.name
	return found
}

// endByForce first waits for another call that frees the set.
func (s *TensorSet) endByForce(*Library, uint64) error {
	if err := s.notInside("tensor_set.free"); err != nil {
		return err
	}
	s.destroying.Lock()
	defer s.destroying.Unlock()
	return s.end(true)
}

// isLoaded states whether the load is over, with or without success.
func (s *TensorSet) isLoaded() bool { return isOver(s.over) }

// notInside rejects a call that would wait for the callback that makes it.
func (s *TensorSet) notInside(op string) error {
	if s.token == 0 || s.isLoaded() || !s.library.running.insideCallback(s.token) {
		return nil
	}
	return device.Errorf(device.CodeInvalidState, op, "called from the progress callback of tensor set handle %#x, for which the call would wait", s.id())
}

// Cancel makes the load end soon. It does not wait.
func (s *TensorSet) Cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelled = true
	if s.loading != nil {
		s.loading.Cancel()
	}
	if s.stop != nil {
		s.stop()
	}
}

// Wait waits until the load is over, and returns its error. Errors: CodeTimeout; CodeInvalidState
// inside the callback of the load.
func (s *TensorSet) Wait(timeout time.Duration) error {
	if s.isLoaded() {
		return s.err
	}
	if err := s.notInside("tensor_set.wait"); err != nil {
		return err
	}
	if timeout == device.Forever {
		<-s.over
		return s.err
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-s.over:
		return s.err
	case <-timer.C:
		return device.Errorf(device.CodeTimeout, "tensor_set.wait", "the load has not ended after %v", timeout)
	}
}

// Progress returns the progress of the load. It never waits for the load.
func (s *TensorSet) Progress() weights.Progress {
	s.mu.Lock()
	loading := s.loading
	s.mu.Unlock()
	p := weights.Progress{DoneBytes: s.done.Load(), TotalBytes: s.total.Load()}
	if loading != nil {
		p = loading.Progress()
	}
	p.IsOver = s.isLoaded()
	return p
}

// Free frees the memory that the load has allocated. Without force it returns CodeBusy while the
// load runs, and after an error of the device the set is unchanged. With force it ends the load. If
// the device fails to free memory, that memory stays allocated and the failure is logged.
func (s *TensorSet) Free(force bool) error {
	if !s.destroying.TryLock() {
		return device.Errorf(device.CodeBusy, "tensor_set.free", "tensor set handle %#x: another call is freeing the set", s.id())
	}
	defer s.destroying.Unlock()
	return s.end(force)
}

// end frees the set. The caller holds destroying.
func (s *TensorSet) end(force bool) error {
	const op = "tensor_set.free"
	l := s.library
	if s.ended.Load() {
		return endedError(s)
	}
	if !s.isLoaded() {
		if !force {
			p := s.Progress()
			return device.Errorf(device.CodeBusy, op, "tensor set handle %#x: its load runs, %v of %v are read", s.id(), device.Size(p.DoneBytes), device.Size(p.TotalBytes))
		}
		if err := s.notInside(op); err != nil {
			return err
		}
		s.Cancel()
		<-s.over
	}
	if err := s.held.vacant(op, ""); err != nil && !force {
		return err
	}
	if err := s.release(); err != nil {
		if !force {
			return err
		}
		l.log.printf(LogError, "tensor set handle %#x, loaded from %s: memory is given up: %v", s.id(), s.name, err)
	}
	s.ended.Store(true)
	s.leavePlaces()
	_, err := l.registry.tensorSets.Remove(s.id())
	return err
}

// release frees the memory and the resources of the set.
func (s *TensorSet) release() error {
	s.using.Lock()
	defer s.using.Unlock()
	if s.set != nil {
		if err := s.set.Free(); err != nil {
			return err
		}
	}
	if s.preloaded != nil {
		s.preloaded.Undo()
	}
	if s.source != nil {
		s.source.release(s.library.log)
		s.source = nil
	}
	return nil
}

func (s *TensorSet) enterPlaces() {
	for _, p := range s.places {
		p.holder.mu.Lock()
		if p.holder.sets == nil {
			p.holder.sets = map[*TensorSet]bool{}
		}
		p.holder.sets[s] = true
		p.holder.mu.Unlock()
	}
}

func (s *TensorSet) leavePlaces() {
	for _, p := range s.places {
		p.holder.mu.Lock()
		delete(p.holder.sets, s)
		p.holder.mu.Unlock()
	}
}
