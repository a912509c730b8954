package engine

import (
	"iter"
	"sync/atomic"
)

// poolList is the pools of a device in the order in which they came. Adding one
// and taking one out cost the same however many there are: one that is taken out is
// only marked, and the list is made anew once every second member is.
type poolList struct {
	members []*member
	byPool  map[Pool]*member
}

type member struct {
	pool Pool
	left atomic.Bool
}

// leftMembers is how many marked members a list may always have.
const leftMembers = 32

func (l *poolList) add(p Pool) {
	if l.byPool == nil {
		l.byPool = make(map[Pool]*member)
	}
	m := &member{pool: p}
	l.byPool[p] = m
	// Nobody who reads the list without the lock looks behind its end.
	l.members = append(l.members, m)
}

// remove is false for a pool that is not in the list.
func (l *poolList) remove(p Pool) bool {
	m := l.byPool[p]
	if m == nil {
		return false
	}
	m.left.Store(true)
	delete(l.byPool, p)
	if left := len(l.members) - len(l.byPool); left > leftMembers && left > len(l.byPool) {
		kept := make([]*member, 0, 2*len(l.byPool))
		for _, m := range l.members {
			if !m.left.Load() {
				kept = append(kept, m)
			}
		}
		l.members = kept
	}
	return true
}

func (l *poolList) count() int { return len(l.byPool) }

// all visits the pools of this moment but those that leave meanwhile. The list is
// asked under its lock, and the visits need none.
func (l *poolList) all() iter.Seq[Pool] {
	members := l.members
	return func(yield func(Pool) bool) {
		for _, m := range members {
			if !m.left.Load() && !yield(m.pool) {
				return
			}
		}
	}
}
