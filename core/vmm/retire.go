package vmm

import (
	"errors"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/pageset"
)

const (
	// pollBudget bounds the events that an ordinary call queries.
	pollBudget = 4
	// pollAll sets no bound for the queries.
	pollAll = int(^uint(0) >> 1)
	// completedMost is the number of completed events after which the lock is released for
	// other threads.
	completedMost = 256
)

// retiree is a range that retires until the events of all streams that use it have
// completed.
type retiree struct {
	run pageset.Run
	// behind counts the events that have not completed.
	behind int
}

// fence is an event of one stream and the ranges of one free that wait for it.
type fence struct {
	behind []*retiree
	queue  *retireQueue
	event  device.Event
	// passed states that the event has completed. waiters counts the threads that wait
	// for the event; it stays open for them.
	passed  bool
	waiters int
}

// retireQueue has the fences of one stream, which complete in order.
type retireQueue struct {
	stream device.Stream
	// fences is never empty while the queue is listed.
	fences []*fence
}

// retirees has the retiring ranges of a space, under the space's lock.
type retirees struct {
	queues   []*retireQueue
	byStream map[device.Stream]*retireQueue
	// cursor is the queue where the next bounded check starts.
	cursor int
	// unclosed has events whose close failed.
	unclosed []device.Event
}

func (t *retirees) init() { t.byStream = make(map[device.Stream]*retireQueue) }

// enqueue adds the ranges that wait for the given marks. It closes a mark for which no
// range waits.
func (t *retirees) enqueue(marks []mark) {
	for _, m := range marks {
		if m.event == nil {
			continue
		}
		if len(m.behind) == 0 {
			t.closeEvent(m.event)
			continue
		}
		q := t.byStream[m.stream]
		if q == nil {
			q = &retireQueue{stream: m.stream}
			t.byStream[m.stream] = q
			t.queues = append(t.queues, q)
		}
		q.fences = append(q.fences, &fence{behind: m.behind, queue: q, event: m.event})
	}
}

// dequeue removes a fence from its queue, and an empty queue from the list.
func (t *retirees) dequeue(f *fence) {
	q := f.queue
	if q.fences[0] == f {
		// The common case: no other fence has to move.
		q.fences[0] = nil
		q.fences = q.fences[1:]
	} else {
		at := slices.Index(q.fences, f)
		q.fences = slices.Delete(q.fences, at, at+1)
	}
	if len(q.fences) == 0 {
		delete(t.byStream, q.stream)
		t.queues = slices.DeleteFunc(t.queues, func(other *retireQueue) bool { return other == q })
	}
}

// fenceOver returns a fence of which a range touches a run, or nil.
func (t *retirees) fenceOver(r pageset.Run) *fence {
	for _, q := range t.queues {
		for _, f := range q.fences {
			for _, to := range f.behind {
				if to.run.Start < r.End() && r.Start < to.run.End() {
					return f
				}
			}
		}
	}
	return nil
}

func (t *retirees) closeEvent(event device.Event) {
	if event.Close() != nil {
		t.unclosed = append(t.unclosed, event)
	}
}

// closeLeft tries again to close the events whose close failed.
func (t *retirees) closeLeft() {
	left := t.unclosed
	t.unclosed = nil
	for _, event := range left {
		t.closeEvent(event)
	}
}

// hasPassed queries an event. An event that cannot be queried has not completed. The
// events of a lost device have completed, because no work uses its memory any more.
func hasPassed(event device.Event) bool {
	done, err := event.Done()
	return done || errors.Is(err, device.CodeDeviceLost)
}

// completeFrees processes at most completedMost completed events and queries at most
// budget. It parks the ranges that wait for no other event. some reports whether an event
// had completed, and more whether others may have. The caller holds mu.
func (s *space) completeFrees(budget int) (some, more bool) {
	passed := 0
	if len(s.retirees.unclosed) > 0 {
		s.retirees.closeLeft()
	}
	for visits := len(s.retirees.queues); visits > 0 && budget > 0 && len(s.retirees.queues) > 0; visits-- {
		s.retirees.cursor %= len(s.retirees.queues)
		q := s.retirees.queues[s.retirees.cursor]
		for len(q.fences) > 0 && budget > 0 {
			budget--
			if !hasPassed(q.fences[0].event) {
				break
			}
			s.pass(q.fences[0])
			some = true
			if passed++; passed == completedMost {
				return true, true
			}
		}
		if len(q.fences) > 0 {
			s.retirees.cursor++
		}
	}
	return some, false
}

// pass processes a completed event, and parks those of its ranges that wait for no other
// event.
func (s *space) pass(f *fence) {
	f.passed = true
	s.retirees.dequeue(f)
	if f.waiters == 0 {
		s.retirees.closeEvent(f.event)
	}
	var completed []pageset.Run
	pages := uint64(0)
	for _, r := range f.behind {
		if r.behind--; r.behind == 0 {
			completed = addRun(completed, r.run)
			pages += r.run.Pages
		}
	}
	if pages == 0 {
		return
	}
	s.table.retiring -= pages
	s.physical.completeFrees(pages)
	s.parkRuns(completed)
}

// parkRuns makes unused pages free for allocations.
func (s *space) parkRuns(runs []pageset.Run) {
	pages := uint64(0)
	for _, r := range runs {
		s.table.parked.Add(r)
		pages += r.Pages
	}
	s.table.putFree(runs)
	s.table.used -= pages
	s.changed.Broadcast()
	if s.left != nil {
		s.left(pages)
	}
}

// completeAll parks every range whose events have completed, and returns the number of
// pages.
func (s *space) completeAll() (pages uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.table.retiring
	s.completeEach()
	return before - min(before, s.table.retiring)
}

// completeEach calls completeFrees for all completed events. The caller holds mu, which
// completeEach releases in between, so the caller has to check the state of the space
// again.
func (s *space) completeEach() (some bool) {
	for {
		completed, more := s.completeFrees(pollAll)
		some = some || completed
		if !more {
			return some
		}
		s.mu.Unlock()
		s.mu.Lock()
	}
}

// await waits until a fence has completed, for at most timeout, and parks all ranges
// whose fences have. passed reports whether this fence has completed.
func (s *space) await(f *fence, timeout time.Duration) (passed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.awaitLocked(f, timeout)
}

// awaitLocked implements await. The caller holds mu, which is released during the wait.
func (s *space) awaitLocked(f *fence, timeout time.Duration) (passed bool, err error) {
	if f.passed {
		return true, nil
	}
	f.waiters++
	s.mu.Unlock()
	err = f.event.Synchronize(timeout)
	s.mu.Lock()
	f.waiters--
	if errors.Is(err, device.CodeDeviceLost) {
		err = nil
	}
	if err == nil && !f.passed {
		s.pass(f)
	} else if f.passed && f.waiters == 0 {
		s.retirees.closeEvent(f.event)
	}
	s.completeEach()
	return f.passed, err
}

// synchronize waits for all retiring ranges.
func (s *space) synchronize() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.retirees.queues) > 0 {
		if _, err := s.awaitLocked(s.retirees.queues[0].fences[0], device.Forever); err != nil {
			return err
		}
	}
	return nil
}
