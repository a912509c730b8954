package vmm

import "slices"

// maxOvertaken bounds how many waiters of higher priority may pass a waiter, so that no
// waiter starves.
const maxOvertaken = 8

// waiter is an allocation that waits for pages.
type waiter struct {
	share *share
	pages uint64
	// guaranteed states that the waiter was within its model's guarantee when it
	// arrived.
	guaranteed bool
	overtaken  int
	// turn is closed when the waiter is the first in the queue: its thread then looks
	// for pages. ended is closed when the waiter has left the queue: it has its pages,
	// or err is the reason of its failure.
	turn, ended chan struct{}
	hasTurn     bool
	err         error
}

func newWaiter(s *share, pages uint64) *waiter {
	return &waiter{share: s, pages: pages, guaranteed: s.within(pages),
		turn: make(chan struct{}), ended: make(chan struct{})}
}

// over reports, without waiting, whether the waiter has left the queue.
func (w *waiter) over() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// line is the queue of waiters, in the order of service. The first has the turn: freed
// pages go to it until it has enough or gives up. Waiters within a guarantee come
// before the others. Within each of the two classes the highest priority comes first,
// and waiters of equal priority are in order of arrival. No waiter passes the one that
// has the turn. A waiter without a guarantee is passed because of priority at most
// maxOvertaken times. The lock of the owner guards the line.
type line struct {
	waiting []*waiter
}

func (l *line) empty() bool { return len(l.waiting) == 0 }

func (l *line) first() *waiter { return l.waiting[0] }

// join inserts a waiter in its order.
func (l *line) join(w *waiter) {
	at := len(l.waiting)
	for at > 0 && l.waiting[at-1].yieldsTo(w) {
		at--
		if !w.guaranteed {
			l.waiting[at].overtaken++
		}
	}
	l.waiting = slices.Insert(l.waiting, at, w)
	l.callFirst()
}

func (w *waiter) yieldsTo(other *waiter) bool {
	switch {
	case w.hasTurn:
		return false
	case w.guaranteed != other.guaranteed:
		return other.guaranteed
	default:
		return w.share.priority < other.share.priority && w.overtaken < maxOvertaken
	}
}

// remove removes a waiter, if it is still in the queue.
func (l *line) remove(w *waiter, err error) {
	at := slices.Index(l.waiting, w)
	if at < 0 {
		return
	}
	l.waiting = slices.Delete(l.waiting, at, at+1)
	w.err = err
	close(w.ended)
	l.callFirst()
}

// callFirst gives the turn to the first waiter.
func (l *line) callFirst() {
	if l.empty() || l.first().hasTurn {
		return
	}
	l.first().hasTurn = true
	close(l.first().turn)
}
