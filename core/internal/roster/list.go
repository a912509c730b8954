package roster

import (
	"iter"
	"sync/atomic"
)

// List is members in the order in which they came. Adding one and taking one out cost
// the same however many there are: one that is taken out is only marked, and the list is
// made anew once every second member is. The zero value is empty.
type List[T comparable] struct {
	members []*member[T]
	known   map[T]*member[T]
}

type member[T comparable] struct {
	value T
	left  atomic.Bool
}

// leftMembers is how many marked members a list may always have.
const leftMembers = 32

// Add puts a value at the end that is not in the list.
func (l *List[T]) Add(value T) {
	if l.known == nil {
		l.known = make(map[T]*member[T])
	}
	m := &member[T]{value: value}
	l.known[value] = m
	// Nobody who reads the list without the lock looks behind its end.
	l.members = append(l.members, m)
}

// Remove is false for a value that is not in the list.
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

// Has says whether the value is in the list.
func (l *List[T]) Has(value T) bool { return l.known[value] != nil }

// Len is how many there are.
func (l *List[T]) Len() int { return len(l.known) }

// All visits the members of this moment but those that leave meanwhile. The list is
// asked under its owner's lock, and the visits need none.
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

// Copy is the members of this moment, also those that leave meanwhile.
func (l *List[T]) Copy() []T {
	values := make([]T, 0, len(l.known))
	for value := range l.All() {
		values = append(values, value)
	}
	return values
}
