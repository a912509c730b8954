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
func (t *Tensor) Use() (Use, error) { return t.UseAwake(nil) }

// UseAwake is Use for a caller that keeps the memory with that weights.Memory.Sleeper awake itself.
func (t *Tensor) UseAwake(sleeper any) (Use, error) {
	if t.closed.Load() {
		return Use{}, t.isClosed()
	}
	if err := t.storage.join(); err != nil {
		return Use{}, err
	}
	u := Use{storage: t.storage}
	if sleeper != nil && t.storage.sleeper == sleeper {
		return u, nil
	}
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

// Group is tensors that are kept awake together. It keeps none of them open.
type Group struct {
	holds  []func() (release func(), err error)
	engine *engine.Engine
}

// NewGroup makes a group. Tensors of one model and tag, or of one pool, are kept awake by one hold. All are on one device.
func NewGroup(tensors []*Tensor) *Group {
	g, seen := &Group{}, map[any]bool{}
	for _, t := range tensors {
		key := any(t.storage)
		if t.storage.sleeper != nil {
			key = t.storage.sleeper
		}
		g.engine = t.storage.engine
		if t.storage.hold != nil && !seen[key] {
			seen[key] = true
			g.holds = append(g.holds, t.storage.hold)
		}
	}
	return g
}

// Hold keeps all memory awake until each release is called. It appends them to a list. Errors:
// CodeBusy while a memory sleeps, and those of the memory; then nothing is held.
func (g *Group) Hold(releases []func()) ([]func(), error) {
	before := len(releases)
	for _, hold := range g.holds {
		release, err := hold()
		if err != nil {
			for _, held := range releases[before:] {
				held()
			}
			return releases[:before], asleep(g.engine, err)
		}
		releases = append(releases, release)
	}
	return releases, nil
}
