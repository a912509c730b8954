package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/tensor"
)

// Tensor is a tensor with a handle.
type Tensor struct {
	object
	tensor *tensor.Tensor
	home   *tensorHome
	// isExport states that a DLPack struct has the handle, and not the program.
	isExport bool
}

// tensorHome is what tensors over the same memory know of its owner.
type tensorHome struct {
	device *Device
	// place is a pool, a model or a set; its holder is nil for other memory.
	place tensorPlace
}

// isGone states that the memory has ended by force.
func (h *tensorHome) isGone() bool { return h.place.isGone != nil && h.place.isGone() }

// Tensor finds a tensor by its handle.
func (x *Tensors) Tensor(op string, id uint64) (*Tensor, error) {
	return find(x.library, x.library.registry.tensors, op, id)
}

func (t *Tensor) hasEnded() bool                  { return t.tensor.IsClosed() }
func (t *Tensor) known() (uint64, *engine.Engine) { return t.id(), t.home.device.Engine }
func (t *Tensor) of(d *Device) bool               { return t.home.device == d }

func (t *Tensor) leak() leak {
	found := t.alive("tensor", t.home.device.Engine)
	found.Tag = t.tensor.Type().String()
	if t.isExport {
		found.Tag += ", exported to DLPack"
	}
	if layout := t.tensor.Layout(); layout.Elements() > 0 {
		found.Address = uint64(t.tensor.Addr())
	}
	return found
}

// endByForce first waits for another call that ends the tensor.
func (t *Tensor) endByForce(*Library, uint64) error {
	t.destroying.Lock()
	defer t.destroying.Unlock()
	return t.end()
}

// Destroy ends the tensor. The last tensor over memory frees it, or gives it back to its owner. Errors:
// those of the memory, after which the tensor is unchanged.
func (t *Tensor) Destroy() error {
	const op = "tensor.destroy"
	if !t.destroying.TryLock() {
		return device.Errorf(device.CodeBusy, op, "tensor handle %#x: another call is ending the tensor", t.id()).On(t.home.device.Engine.ID())
	}
	defer t.destroying.Unlock()
	return t.end()
}

// end ends the tensor. The caller holds destroying.
func (t *Tensor) end() error {
	if t.tensor.IsClosed() {
		return endedError(t)
	}
	if err := t.tensor.Close(); err != nil {
		return err
	}
	t.home.place.holder.forget(t)
	_, err := t.library.registry.tensors.Remove(t.id())
	return err
}

// usable returns CodeInvalidState if the memory of the tensor has ended by force, and CodeInvalidHandle if
// the tensor has ended.
func (t *Tensor) usable(op string) error {
	if t.tensor.IsClosed() {
		return endedError(t)
	}
	if t.home.isGone() {
		return device.Errorf(device.CodeInvalidState, op, "tensor handle %#x: the pool, model, manager or set with its memory has been ended by force", t.id()).
			On(t.home.device.Engine.ID())
	}
	return nil
}

// keep adds a tensor to those that the place knows.
func (h *tensorHolder) keep(t *Tensor) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tensors == nil {
		h.tensors = map[*Tensor]bool{}
	}
	h.tensors[t] = true
}

func (h *tensorHolder) forget(t *Tensor) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tensors, t)
}

// vacant returns CodeBusy if a tensor is in the place or in one of its models; model "": in any.
func (h *tensorHolder) vacant(op, model string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for t := range h.tensors {
		if model == "" || t.home.place.model == model {
			return device.Errorf(device.CodeBusy, op, "tensor handle %#x has its memory there", t.id())
		}
	}
	return nil
}
