package vmm

import "slices"

// maxOvertaken bounds how many waiters of higher priority may pass one that waits,
// so that each comes to its turn.
const maxOvertaken = 8

// waiter is an allocation that waits for pages.
type waiter struct {
	share *share
	pages uint64
	// guaranteed says that the waiter was within its model's guarantee when it came.
	guaranteed bool
	overtaken  int
	// turn is closed when the waiter is the first in line: its thread looks for
	// room then. ended is closed when it has left the line: it has its pages,
	// or err says why not.
	turn, ended chan struct{}
	hasTurn     bool
	err         error
}

func newWaiter(s *share, pages uint64) *waiter {
	return &waiter{share: s, pages: pages, guaranteed: s.within(pages),
		turn: make(chan struct{}), ended: make(chan struct{})}
}

// over says without waiting whether the waiter has left the line.
func (w *waiter) over() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// line is the order in which waiters are served. The first has its turn: what
// comes free is its own until it has enough or gives up. Those within a guarantee
// stand before the others; those within one class by priority, the highest first;
// equal ones by arrival. Nobody passes the one that has its turn, and a waiter that
// is not within a guarantee is passed by priority maxOvertaken times at most. The
// owner's lock guards it.
type line struct {
	waiting []*waiter
}

func (l *line) empty() bool { return len(l.waiting) == 0 }

func (l *line) first() *waiter { return l.waiting[0] }

// join puts a waiter in its place.
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

// remove takes a waiter out, if it is still there.
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

// callFirst tells the first in line that it is.
func (l *line) callFirst() {
	if l.empty() || l.first().hasTurn {
		return
	}
	l.first().hasTurn = true
	close(l.first().turn)
}
