package vmm

import (
	"context"
	"fmt"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/sleep"
)

// A tag that must stay awake. A load writes the pages of its allocations piece by piece. Between two
// pieces no queued work uses the pages, so a Sleep would take them. The load therefore keeps its tag
// awake: it begins before its first allocation, and a Sleep of the tag waits until it has ended.

// KeepAwake keeps a tag awake until release is called: a Sleep of the tag, or of all, waits for it, and
// returns CodeTimeout if it must not wait or has waited too long. A forced Close with live pages waits too,
// because the caller may access them. "" is the tag of allocations without a tag. Several callers may keep
// one tag awake. release may be called more than once, and after Close.
// Errors: CodeInvalidState if the tag is asleep or is being put to sleep.
func (p *Pool) KeepAwake(tag string) (release func(), err error) { return p.space.keepAwake(tag) }

// KeepAwake is Pool.KeepAwake for a model. Errors: also CodeModelNotFound.
func (m *Model) KeepAwake(tag string) (release func(), err error) {
	release, err = m.space.keepAwake(tag)
	return release, m.goneInsteadOf("keep_awake", err)
}

func (s *space) keepAwake(tag string) (release func(), err error) {
	const op = "keep_awake"
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table.state != stateOpen {
		return nil, s.table.extent.Closed(op)
	}
	if err := s.table.sleeping(placing{op: op, tag: tag, anywhere: true}); err != nil {
		return nil, err
	}
	name := s.table.tagName(tag)
	if s.table.keptAwake == nil {
		s.table.keptAwake = map[string]int{}
	}
	s.table.keptAwake[name]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.table.keptAwake[name]--; s.table.keptAwake[name] == 0 {
			delete(s.table.keptAwake, name)
		}
		s.changed.Broadcast()
	}), nil
}

// sleepWait is the wait of a Sleep before it claims pages. The caller of its methods holds mu, except of
// beforeEnd.
type sleepWait struct {
	space  *space
	ctx    context.Context
	noWait bool
}

// forKeepers waits until no call keeps a tag awake; tag "": any tag.
func (w sleepWait) forKeepers(tag string) error {
	return w.until(func() (running string) {
		for of := range w.space.table.keptAwake {
			if tag == "" || tag == of {
				return fmt.Sprintf("a load into tag %q of %s is", of, w.space.table.extent.Title())
			}
		}
		return ""
	})
}

// forClaims waits for allocations in progress.
func (w sleepWait) forClaims() error {
	return w.until(func() (running string) {
		if w.space.claims == 0 {
			return ""
		}
		return fmt.Sprintf("%s of %s", device.Count(w.space.claims, "allocation"), w.space.table.extent.Title())
	})
}

// until waits until running returns "". Otherwise running returns what still runs.
func (w sleepWait) until(running func() string) error {
	const op = "sleep"
	for what := running(); what != ""; what = running() {
		switch {
		case w.noWait:
			return w.space.table.extent.Fault(device.CodeTimeout, op, "%s still running, and the call must not wait", what)
		case !w.space.physical.engine.MayWait():
			return w.space.table.extent.Fault(device.CodeBusy, op, "%s still running, and this thread must not wait", what)
		case w.ctx.Err() != nil:
			return sleep.Ended(w.ctx, &w.space.table.extent, op)
		}
		w.space.waitChanged(w.ctx)
		if w.space.table.state != stateOpen {
			return w.space.table.extent.Closed(op)
		}
	}
	return nil
}

// beforeEnd waits, for a forced close, until no call keeps a tag awake, and then for the work that these calls
// have queued. The space is closing, so no further call begins. A device that is lost does not come here.
func (w sleepWait) beforeEnd() error {
	of := w.space
	if !of.physical.engine.MayWait() {
		return of.table.extent.Fault(device.CodeBusy, "close", "%s is in use by a call, and this thread must not wait", of.table.extent.Title())
	}
	of.mu.Lock()
	for len(of.table.keptAwake) > 0 {
		of.changed.Wait()
	}
	of.mu.Unlock()
	return of.physical.engine.Synchronize(device.Forever)
}
