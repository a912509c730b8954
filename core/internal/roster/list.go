package roster

import (
	"iter"
	"sync/atomic"
)

// List has members in order of their insertion. Add and Remove have a constant cost: a
// removed member is only marked, and the list is built again when half of its members
// are marked. The zero value is empty.
type List[T comparable] struct {
	members []*member[T]
	known   map[T]*member[T]
}

type member[T comparable] struct {
	value T
	left  atomic.Bool
}

// leftMembers is the number of marked members that a list may always have.
const leftMembers = 32

// Add appends a value that is not in the list.
func (l *List[T]) Add(value T) {
	if l.known == nil {
		l.known = make(map[T]*member[T])
	}
	m := &member[T]{value: value}
	l.known[value] = m
	// Readers without the lock never read beyond their end of the list.
	l.members = append(l.members, m)
}

// Remove removes a value. It returns false for a value that is not in the list.
func (l *List[T]) Remove(value T) bool {
	m := l.known[value]
	if m == nil {
		return false
	}
	m.left.Store(true)
	delete(l.known, value)
	if left := len(l.members) - len(l.known); left > leftMembers && left > len(l.known) {
		kept := make([]*member[T], 0, 2*len(l.known))
		for _, m := range l.members {
			if !m.left.Load() {
				kept = append(kept, m)
			}
		}
		l.members = kept
	}
	return true
}

// Has reports whether the value is in the list.
func (l *List[T]) Has(value T) bool { return l.known[value] != nil }

// Len returns the number of members.
func (l *List[T]) Len() int { return len(l.known) }

// All iterates over the present members, except those that are removed during the
// iteration. All is called under the owner's lock; the iteration does not need it.
func (l *List[T]) All() iter.Seq[T] {
	members := l.members
	return func(yield func(T) bool) {
		for _, m := range members {
			if !m.left.Load() && !yield(m.value) {
				return
			}
		}
	}
}

// Copy returns the present members.
func (l *List[T]) Copy() []T {
	values := make([]T, 0, len(l.known))
	for value := range l.All() {
		values = append(values, value)
	}
	return values
}
