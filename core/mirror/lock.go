package mirror

import (
	"sync"
	"sync/atomic"
)

// Lock is a mutex over numbers that may be shown, or lent (core/lending). The zero value is
// ready to use, and shows them nowhere.
type Lock struct {
	mu sync.Mutex
	// version is that of the place where the numbers are shown; nil: there is none.
	version *atomic.Uint64
	shown   bool
	// recall takes the numbers back that were lent; nil: they are here.
	recall func()
}

// Lock takes the lock for a change: what is shown is hidden, and what was lent is back.
func (l *Lock) Lock() {
	l.mu.Lock()
	if l.shown {
		l.hide()
	}
	if l.recall != nil {
		l.takeBack()
	}
}

// Peek takes the lock to read: what is shown stays so, and nothing of it may change. What
// was lent is back; nothing is lent while it is shown.
func (l *Lock) Peek() {
	l.mu.Lock()
	if l.recall != nil {
		l.takeBack()
	}
}

// Lend has recall called, with the lock held, before anybody has the lock again: the numbers
// are changed elsewhere until then. The caller holds the lock, by Lock.
func (l *Lock) Lend(recall func()) { l.recall = recall }

func (l *Lock) takeBack() {
	recall := l.recall
	l.recall = nil
	recall()
}

// Unlock gives the lock back.
func (l *Lock) Unlock() { l.mu.Unlock() }

func (l *Lock) hide() {
	l.shown = false
	l.version.Add(1)
}

// Place says where the numbers are to be shown from now on, by the version there; nil:
// nowhere. The caller holds the lock, by Lock. No other Lock shows anything at that place until
// this one has another.
func (l *Lock) Place(version *atomic.Uint64) { l.version = version }

// Wanted says whether there is a place to show the numbers at which does not show them.
// The caller holds the lock.
func (l *Lock) Wanted() bool { return !l.shown && l.version != nil }

// Show says that what was written there is the present state. The caller holds the lock
// since before the numbers were read, and Wanted.
func (l *Lock) Show() {
	l.shown = true
	l.version.Add(1)
}
