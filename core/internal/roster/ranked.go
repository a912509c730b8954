package roster

import "slices"

// Ranked is members in an order of their own. Nothing is put in order when one comes,
// goes or changes its rank, but once when they are asked for afterwards. The zero value
// needs Compare before its first member.
type Ranked[T comparable] struct {
	// Compare is the order; no two members are equal by it.
	Compare func(a, b T) int
	known   map[T]struct{}
	ordered []T
	// fresh came after ordered was made.
	fresh []T
	// stale says that ordered is not what it should be.
	stale bool
}

// Add takes in a value that is not there.
func (r *Ranked[T]) Add(value T) {
	if r.known == nil {
		r.known = make(map[T]struct{})
	}
	r.known[value] = struct{}{}
	r.fresh = append(r.fresh, value)
	r.stale = true
	if len(r.fresh) > leftMembers && len(r.fresh) > 2*len(r.known) {
		// Many came and went, and nobody asked.
		r.All()
	}
}

// Remove takes a value out, if it is there.
func (r *Ranked[T]) Remove(value T) {
	if r.Has(value) {
		delete(r.known, value)
		r.stale = true
	}
}

// Moved says that the order of members may have changed.
func (r *Ranked[T]) Moved() { r.stale = true }

// Has says whether the value is there.
func (r *Ranked[T]) Has(value T) bool {
	_, has := r.known[value]
	return has
}

// Len is how many there are.
func (r *Ranked[T]) Len() int { return len(r.known) }

// All is the members in their order. Nobody changes what is returned, also later, so it
// may be read without the owner's lock.
func (r *Ranked[T]) All() []T {
	if r.stale {
		ordered := make([]T, 0, len(r.known))
		for _, part := range [][]T{r.ordered, r.fresh} {
			for _, value := range part {
				if r.Has(value) {
					ordered = append(ordered, value)
				}
			}
		}
		// Who went and came again is there twice. What was in order mostly still is.
		slices.SortFunc(ordered, r.Compare)
		r.ordered, r.fresh, r.stale = slices.Compact(ordered), nil, false
	}
	return r.ordered
}
