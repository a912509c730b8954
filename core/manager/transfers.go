package manager

import "sync"

// transfers bounds the asynchronous copies in flight to a manager's blocks.
type transfers struct {
	most int

	mu sync.Mutex
	// changed is signalled when a transfer slot was used or released.
	changed *sync.Cond
	// taken counts slots that were allocated and not used yet.
	taken int
	// running has the copies that may not have completed, the oldest first. Each is a
	// reference.
	running []*operation
}

func (t *transfers) init(most int) {
	t.most = most
	t.changed = sync.NewCond(&t.mu)
}

// take waits for a transfer slot. If there is none, it waits for the oldest copy. It is
// called with no lock held; doc.go states why it cannot deadlock.
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

// awaitOldest waits for the oldest copy. The caller holds t.mu, which is released
// during the wait.
func (t *transfers) awaitOldest() error {
	oldest := t.running[0]
	oldest.keep()
	t.mu.Unlock()
	err := oldest.wait()
	oldest.release()
	t.mu.Lock()
	return err
}

// prune releases the copies that have completed. The caller holds t.mu.
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

// use turns a slot into a copy in flight and takes over a reference of it; nil releases
// the slot.
func (t *transfers) use(o *operation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken--
	if o != nil {
		t.running = append(t.running, o)
	}
	t.changed.Broadcast()
}

// drop releases all copies.
func (t *transfers) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.running {
		o.release()
	}
	t.running = nil
}
