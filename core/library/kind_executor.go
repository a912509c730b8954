package library

import (
	"context"
	"errors"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/model"
)

// Executor is a handle of a model that is being built, or is built. A model may have several handles. The
// last one that ends closes the model.
type Executor struct {
	object
	built *builtModel
	// name is the name under which the program finds the model; "": this handle is not that of a name.
	name string
}

// ExportRequest states which model to export: that of a path, or a definition with the handle of its weights;
// 0: they are made by the rules of the definition.
type ExportRequest struct {
	Path       string
	Definition []byte
	Weights    uint64
}

// builtModel is a model with the number of its handles.
type builtModel struct {
	// id is that of the model in pool.
	id      string
	device  *Device
	compute *Compute
	pool    *ElasticPool
	// token is that of the callbacks of the build. cancel ends the build.
	token  uint64
	cancel context.CancelFunc
	// over is closed when the build has ended. executor is written before that; nil: the build has failed.
	over     chan struct{}
	executor *model.Executor
	// from and options are those of the build, from which its model is exported.
	from    ExportRequest
	options model.Options

	// mu guards handles. It is a leaf.
	mu      sync.Mutex
	handles int
}

// notInside rejects a call that would wait for the callback that makes it.
func (b *builtModel) notInside(op string) error {
	if isOver(b.over) || !b.device.library.running.insideCallback(b.token) {
		return nil
	}
	return device.Errorf(device.CodeInvalidState, op, "called from a callback of the build of model %q, for which the call would wait", b.id).
		On(b.device.Engine.ID()).OfModel(b.id)
}

// keep adds a handle; false: the model is closed, or will be.
func (b *builtModel) keep() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.handles == 0 {
		return false
	}
	b.handles++
	return true
}

// leave ends a handle. The last one closes the model. After an error the handle stays.
func (b *builtModel) leave(force bool) error {
	b.mu.Lock()
	b.handles--
	isLast := b.handles == 0
	b.mu.Unlock()
	if !isLast {
		return nil
	}
	if err := b.close(force); err != nil {
		b.mu.Lock()
		b.handles++
		b.mu.Unlock()
		return err
	}
	return nil
}

// close closes the model, and ends its ownership of the model of the pool. The build has ended. A closed
// model stays closed.
func (b *builtModel) close(force bool) error {
	if b.executor != nil && !b.executor.IsClosed() {
		// Another call may have closed it meanwhile.
		if err := b.executor.Close(force); err != nil && !b.executor.IsClosed() {
			return err
		}
	}
	b.pool.held.disown(b)
	return nil
}

// end ends the model whatever its handles are: it cancels a build, waits for the calls that use the model,
// and closes it.
func (b *builtModel) end(op string) error {
	if err := b.notInside(op); err != nil {
		return err
	}
	b.cancel()
	<-b.over
	return b.close(true)
}

func (e *Executor) hasEnded() bool {
	return isOver(e.built.over) && (e.built.executor == nil || e.built.executor.HasEnded())
}
func (e *Executor) known() (uint64, *engine.Engine) { return e.id(), e.built.device.Engine }
func (e *Executor) of(d *Device) bool               { return e.built.device == d }

func (e *Executor) leak() leak {
	found := e.alive("executor", e.built.device.Engine)
	if found.Tag = e.built.id; e.name != "" {
		found.Tag = e.name
	}
	return found
}

// endByForce ends the model, and the handle with it. It first waits for another call that ends the handle.
func (e *Executor) endByForce(l *Library, _ uint64) error {
	if err := e.built.notInside("executor.destroy"); err != nil {
		return err
	}
	e.destroying.Lock()
	defer e.destroying.Unlock()
	return endOf(l.registry.executors, e, func() error {
		l.Executors.forget(e)
		return e.built.end("executor.destroy")
	})
}

// Destroy ends the handle. If it is the last one of the model, the model is closed. Without force it then
// returns CodeBusy while another call uses the model.
func (e *Executor) Destroy(force bool) error {
	err := endNow(e.library.registry.executors, "executor.destroy", e, func() error { return e.built.leave(force) })
	if err == nil {
		// The leak report shows the handle of a name, so a program can end it.
		e.library.Executors.forget(e)
	}
	return e.library.log.orLog(err, force, e.id())
}

// own states that a model of the pool belongs to an executor. Errors: CodeModelAlreadyExists.
func (h *tensorHolder) own(op string, b *builtModel) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.models[b.id] != nil {
		return device.Errorf(device.CodeModelAlreadyExists, op, "model %q is built in %q already, or a build of it is in progress", b.id, b.pool.Name()).OfModel(b.id)
	}
	if h.models == nil {
		h.models = map[string]*builtModel{}
	}
	h.models[b.id] = b
	return nil
}

// disown ends own.
func (h *tensorHolder) disown(b *builtModel) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.models[b.id] == b {
		delete(h.models, b.id)
	}
}

// owned lists the models of executors; model "": all.
func (h *tensorHolder) owned(model string) (list []*builtModel) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, b := range h.models {
		if model == "" || model == id {
			list = append(list, b)
		}
	}
	return list
}

// endExecutors ends the executors of a pool, or of one of its models, before it is destroyed. Without force
// it returns CodeBusy if there are some.
func (h *tensorHolder) endExecutors(op, model string, force bool) error {
	list := h.owned(model)
	for _, b := range list {
		if !force {
			return device.Errorf(device.CodeBusy, op, "model %q belongs to an executor", b.id).OfModel(b.id)
		}
		if err := b.notInside(op); err != nil {
			return err
		}
	}
	var failed error
	for _, b := range list {
		failed = errors.Join(failed, b.end(op))
	}
	return failed
}
