package vmm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/pageset"
	"ferrum_mem/core/vmm/sleep"
)

// sweeping is a sweep of a space in progress.
type sweeping struct {
	space *space
	sweep *sleep.Sweep
}

// finish does the steps of the sweep. The caller holds no lock.
func (w sweeping) finish() error {
	s := w.space
	err := w.sweep.Close()
	s.mu.Lock()
	s.table.saved.Settle(w.sweep)
	s.mu.Unlock()
	stale := w.sweep.DropStale(func(r pageset.Run, mark uint32) error {
		return s.physical.mapper.drop(&s.table.extent, r, mark)
	})
	failures, kept := w.sweep.Drop()
	if err == nil {
		err = cmp.Or(stale, kept)
	}
	for _, failure := range failures {
		s.physical.engine.Log(engine.Warning, fmt.Sprintf("%s: a file with contents of a sleep could not be removed: %v", s.table.extent.Title(), failure))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.saved.End(w.sweep)
	s.table.sweeps--
	s.changed.Broadcast()
	return err
}

// finishQuietly calls finish and only logs an error.
func (w sweeping) finishQuietly() {
	if err := w.finish(); err != nil {
		w.space.physical.engine.Log(engine.Warning, err.Error())
	}
}

// lateThreads are the threads that free the contents of ended Wakes.
type lateThreads struct {
	mu      sync.Mutex
	running []<-chan struct{}
}

// freeLater starts a thread that frees the contents of a Wake, if they are LateBytes or
// more of page-locked memory: the driver call takes long and may wait for the device, and
// the caller of Wake must not wait for it. It reports whether it starts one. The caller
// holds mu of the space.
func (l *lateThreads) freeLater(s *space) bool {
	if !s.physical.worker.hands || s.table.saved.DroppedPinned() < s.physical.keepers.LateBytes {
		return false
	}
	w := sweeping{s, s.table.saved.Take()}
	s.table.sweeps++
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = slices.DeleteFunc(l.running, func(ended <-chan struct{}) bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	l.running = append(l.running, device.Go("pages "+s.physical.config.Name, w.finishQuietly))
	return true
}

// wait waits until the threads have ended, or the context has.
func (l *lateThreads) wait(ctx context.Context) {
	l.mu.Lock()
	running := slices.Clone(l.running)
	l.mu.Unlock()
	for _, ended := range running {
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}
