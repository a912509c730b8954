package manager

import "sync"

// transfers bounds the asynchronous copies in flight to a manager's blocks.
type transfers struct {
	most int

	mu sync.Mutex
	// changed is signalled when a turn has been used or given back.
	changed *sync.Cond
	// taken counts turns that were given and not used yet.
	taken int
	// running is the copies that are not known to be done, the oldest first.
	// Each is a reference.
	running []*operation
}

func (t *transfers) init(most int) {
	t.most = most
	t.changed = sync.NewCond(&t.mu)
}

// take waits for a turn: for the oldest copy, if there is none. It is called
// with no lock held; doc.go says why it does not hang.
func (t *transfers) take() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		t.prune()
		if len(t.running)+t.taken < t.most {
			t.taken++
			return nil
		}
		if len(t.running) == 0 {
			t.changed.Wait()
			continue
		}
		if err := t.awaitOldest(); err != nil {
			return err
		}
	}
}

// awaitOldest waits for the oldest copy. The caller holds t.mu, which is let go
// meanwhile.
func (t *transfers) awaitOldest() error {
	oldest := t.running[0]
	oldest.keep()
	t.mu.Unlock()
	err := oldest.wait()
	oldest.release()
	t.mu.Lock()
	return err
}

// prune lets go of the copies that are done. The caller holds t.mu.
func (t *transfers) prune() {
	kept := t.running[:0]
	for _, o := range t.running {
		if o.done() {
			o.release()
		} else {
			kept = append(kept, o)
		}
	}
	clear(t.running[len(kept):])
	t.running = kept
}

// use turns a turn into a copy in flight, of which it takes over a reference;
// nil gives the turn back.
func (t *transfers) use(o *operation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken--
	if o != nil {
		t.running = append(t.running, o)
	}
	t.changed.Broadcast()
}

// drop lets go of all copies.
func (t *transfers) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.running {
		o.release()
	}
	t.running = nil
}
