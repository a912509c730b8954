package tensor

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// Use keeps the memory of a tensor allocated and awake until End, although the tensor may be closed
// meanwhile. The zero value keeps nothing.
type Use struct {
	storage *storage
	awake   func()
}

// Use begins a use of the elements. It allocates nothing, unless the memory does to stay awake.
// Errors: as of Hold.
func (t *Tensor) Use() (Use, error) {
	if t.closed.Load() {
		return Use{}, t.isClosed()
	}
	if err := t.storage.join(); err != nil {
		return Use{}, err
	}
	u := Use{storage: t.storage}
	var err error
	if u.awake, err = t.Hold(); err != nil {
		u.End()
		return Use{}, err
	}
	return u, nil
}

// End ends the use. If it was the last one of a closed tensor, it frees the memory; a failure is
// written to the log of the device.
func (u *Use) End() {
	if u.awake != nil {
		u.awake()
	}
	if u.storage != nil {
		if err := u.storage.leave(); err != nil {
			u.storage.engine.Log(engine.Warning, "memory of a closed tensor cannot be freed: "+err.Error())
		}
	}
	*u = Use{}
}

// Reach returns the addresses from the first byte of an element to the end of the last. Both are 0
// for a tensor without elements.
func (t *Tensor) Reach() (first, end device.Addr) { return t.reach() }
