package vmm

import (
	"errors"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/pageset"
)

const (
	// pollBudget bounds the events that an ordinary call asks.
	pollBudget = 4
	// pollAll asks as many as there is any use in.
	pollAll = int(^uint(0) >> 1)
	// landEvents is how many events are taken in while others wait.
	landEvents = 256
)

// retiree is a range that retires until the events of all streams that use it have
// passed.
type retiree struct {
	run pageset.Run
	// behind is how many events have not passed.
	behind int
}

// fence is an event of one stream and the range that retires behind it.
type fence struct {
	*retiree
	queue *retireQueue
	event device.Event
	// passed says that the event has passed; waiters is how many threads wait on
	// it, which stays open for them.
	passed  bool
	waiters int
}

// retireQueue is the fences of one stream, which pass in their order.
type retireQueue struct {
	stream device.Stream
	// fences has one at least while the queue is listed.
	fences []*fence
}

// retirees are the retiring ranges of a space, under its lock.
type retirees struct {
	queues   []*retireQueue
	byStream map[device.Stream]*retireQueue
	// cursor is where a bounded look starts.
	cursor int
	// unclosed are events that could not be closed yet.
	unclosed []device.Event
}

func (t *retirees) init() { t.byStream = make(map[device.Stream]*retireQueue) }

// enqueue puts a range behind the marks of streams.
func (t *retirees) enqueue(marks []mark, r pageset.Run) {
	to := &retiree{run: r}
	for _, m := range marks {
		if m.event == nil {
			continue
		}
		q := t.byStream[m.stream]
		if q == nil {
			q = &retireQueue{stream: m.stream}
			t.byStream[m.stream] = q
			t.queues = append(t.queues, q)
		}
		to.behind++
		q.fences = append(q.fences, &fence{retiree: to, queue: q, event: m.event})
	}
}

// dequeue takes a fence out of its queue, and an empty queue out of the list.
func (t *retirees) dequeue(f *fence) {
	q := f.queue
	if q.fences[0] == f {
		// The common case, without a move of all the others.
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

// fenceOver is a fence whose range touches a run, or nil.
func (t *retirees) fenceOver(r pageset.Run) *fence {
	for _, q := range t.queues {
		for _, f := range q.fences {
			if f.run.Start < r.End() && r.Start < f.run.End() {
				return f
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

// closeLeft tries again to close events that could not be closed.
func (t *retirees) closeLeft() {
	left := t.unclosed
	t.unclosed = nil
	for _, event := range left {
		t.closeEvent(event)
	}
}

// hasPassed asks an event. One that cannot be asked has not passed; those of a lost
// device have: no work uses the memory any more.
func hasPassed(event device.Event) bool {
	done, err := event.Done()
	return done || errors.Is(err, device.CodeDeviceLost)
}

// land takes in events that have passed, landEvents at most, asking no more than budget
// of them, parks the ranges that wait for no other, and says whether there were any such
// events, and whether there may be more. The caller holds mu.
func (s *space) land(budget int) (some, more bool) {
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
			if passed++; passed == landEvents {
				return true, true
			}
		}
		if len(q.fences) > 0 {
			s.retirees.cursor++
		}
	}
	return some, false
}

// pass takes in an event that has passed, and parks the range behind it if that waits
// for no other.
func (s *space) pass(f *fence) {
	f.passed = true
	s.retirees.dequeue(f)
	if f.waiters == 0 {
		s.retirees.closeEvent(f.event)
	}
	if f.behind--; f.behind > 0 {
		return
	}
	s.table.retiring -= f.run.Pages
	s.physical.land(f.run.Pages)
	s.parkRun(f.run)
}

// parkRun makes pages that nobody uses any more free to be taken.
func (s *space) parkRun(r pageset.Run) {
	s.table.parked.Add(r)
	s.table.free.Put(r)
	s.table.used -= r.Pages
	s.changed.Broadcast()
	if s.left != nil {
		s.left(r.Pages)
	}
}

// landAll parks every range whose events have passed, and says how many pages.
func (s *space) landAll() (pages uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.table.retiring
	s.landEach()
	return before - min(before, s.table.retiring)
}

// landEach is land for all events that have passed, and lets others have mu in between,
// which the caller holds: it knows nothing for certain of the space any more.
func (s *space) landEach() (some bool) {
	for {
		landed, more := s.land(pollAll)
		some = some || landed
		if !more {
			return some
		}
		s.mu.Unlock()
		s.mu.Lock()
	}
}

// await waits until a fence has passed, timeout at most, and parks all ranges of which
// every fence has; passed says whether this one has.
func (s *space) await(f *fence, timeout time.Duration) (passed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.awaitLocked(f, timeout)
}

// awaitLocked is await. The caller holds mu, which is let go meanwhile.
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
	s.landEach()
	return f.passed, err
}

// synchronize waits for everything that is retiring.
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
