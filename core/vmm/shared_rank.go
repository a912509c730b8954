package vmm

import (
	"cmp"
	"slices"
)

// rank gives an owner a priority, and puts owners and spaces in the order in which
// what they do not use is taken: the lowest priority first, equal ones by age.
func (ph *Physical) rank(o *owner, priority int32) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	o.priority = priority
	slices.SortStableFunc(ph.owners, func(a, b *owner) int { return cmp.Compare(a.priority, b.priority) })
	slices.SortStableFunc(ph.spaces, func(a, b *space) int { return cmp.Compare(a.owner.priority, b.owner.priority) })
}
