package roster

import (
	"slices"

	"ferrum_mem/core/internal/sorting"
)

// Ranked has members sorted by Compare. Adding, removing or changing a member does not
// sort; the next read sorts once. The zero value needs Compare before its first member.
type Ranked[T comparable] struct {
	// Compare is the order; no two members compare as equal.
	Compare func(a, b T) int
	known   map[T]struct{}
	ordered []T
	// fresh has the members that were added after ordered was built.
	fresh []T
	// stale states that ordered has to be built again.
	stale bool
}

// Add adds a value that is not there.
func (r *Ranked[T]) Add(value T) {
	if r.known == nil {
		r.known = make(map[T]struct{})
	}
	r.known[value] = struct{}{}
	r.fresh = append(r.fresh, value)
	r.stale = true
	if len(r.fresh) > leftMembers && len(r.fresh) > 2*len(r.known) {
		// Many members were added and removed without a read.
		r.All()
	}
}

// Remove removes a value, if it is there.
func (r *Ranked[T]) Remove(value T) {
	if r.Has(value) {
		delete(r.known, value)
		r.stale = true
	}
}

// Moved states that the order of members may have changed.
func (r *Ranked[T]) Moved() { r.stale = true }

// Has reports whether the value is there.
func (r *Ranked[T]) Has(value T) bool {
	_, has := r.known[value]
	return has
}

// Len returns the number of members.
func (r *Ranked[T]) Len() int { return len(r.known) }

// All returns the members in their order. The returned slice is never changed, so it
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
		// A member that was removed and added again is there twice. The slice is still
		// mostly sorted.
		sorting.By(ordered, r.Compare)
		r.ordered, r.fresh, r.stale = slices.Compact(ordered), nil, false
	}
	return r.ordered
}
