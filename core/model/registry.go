package model

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
)

// Reference keeps a registered model open. Several may exist for one model.
type Reference struct {
	held       *held
	isReleased atomic.Bool
}

// held is a model with the number of its references.
type held struct {
	executor *Executor
	count    atomic.Int64
}

// Executor returns the model. It is open at least until Release.
func (r *Reference) Executor() *Executor { return r.held.executor }

// Release ends the reference. The last one closes the model unless somebody has closed it, for which it
// waits until no call uses the model. Errors: CodeInvalidState for a released reference; those of Executor.Close, after which the
// reference can be released again.
func (r *Reference) Release() error {
	if !r.isReleased.CompareAndSwap(false, true) {
		return device.Errorf(device.CodeInvalidState, opRegistry, "the reference to model %q was released", r.held.executor.id)
	}
	if r.held.count.Add(-1) > 0 {
		return nil
	}
	err := r.held.executor.Close(true)
	if err != nil && !(errors.Is(err, device.CodeInvalidState) && r.held.executor.HasEnded()) {
		r.held.count.Add(1)
		r.isReleased.Store(false)
		return err
	}
	return nil
}

// another returns a further reference. The caller has one that is not released meanwhile.
func (h *held) another() *Reference {
	h.count.Add(1)
	return &Reference{held: h}
}

// Registry has built models by their names. It owns a reference to each. All methods are safe for
// concurrent use.
type Registry struct {
	mu     sync.Mutex
	models map[string]*Reference
}

// NewRegistry creates a registry without models.
func NewRegistry() *Registry { return &Registry{models: map[string]*Reference{}} }

// Put adds a model and takes it over: the model is closed when it was removed and its last reference was
// released. Errors: CodeAlreadyExists for a name that the registry has, and CodeInvalidArgument for the
// name ""; then the model stays that of the caller.
func (r *Registry) Put(name string, x *Executor) error {
	if name == "" || x == nil {
		return device.Errorf(device.CodeInvalidArgument, opRegistry, "a name and a model are required")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.models[name] != nil {
		return device.Errorf(device.CodeAlreadyExists, opRegistry, "there is a model %q already", name).OfModel(name)
	}
	for other, of := range r.models {
		if of.held.executor == x {
			return device.Errorf(device.CodeAlreadyExists, opRegistry, "the model is registered already, as %q", other).OfModel(other)
		}
	}
	r.models[name] = (&held{executor: x}).another()
	return nil
}

// Get returns a reference, which the caller releases; false: there is no model of that name.
func (r *Registry) Get(name string) (*Reference, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.models[name]
	if of == nil {
		return nil, false
	}
	return of.held.another(), true
}

// Remove removes a model, and returns the reference of the registry, which the caller releases; false:
// there is no model of that name. References that others have stay valid.
func (r *Registry) Remove(name string) (*Reference, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.models[name]
	delete(r.models, name)
	return of, of != nil
}

// List returns the names, sorted.
func (r *Registry) List() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.models))
}

// Contains states whether there is a model of that name.
func (r *Registry) Contains(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.models[name] != nil
}

// Info describes a model; false: there is none of that name.
func (r *Registry) Info(name string) (Info, bool) {
	of, isThere := r.Get(name)
	if !isThere {
		return Info{}, false
	}
	info := of.Executor().Info()
	// The model may have been removed meanwhile. Then this reference may be the last, and the caller of
	// Remove has closed nothing; the failure of a close is that of the memory, and is in its log.
	_ = of.Release()
	return info, true
}

// Close removes all models and releases their references. Errors: those of Reference.Release; the models
// that could not be closed stay registered.
func (r *Registry) Close() error {
	for _, name := range r.List() {
		of, isThere := r.Remove(name)
		if !isThere {
			continue
		}
		if err := of.Release(); err != nil {
			r.mu.Lock()
			if r.models[name] == nil {
				r.models[name] = of
			}
			r.mu.Unlock()
			return err
		}
	}
	return nil
}
