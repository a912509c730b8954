package vmm

import "cmp"

// compareOwners is the order in which what owners do not use is taken: the lowest
// priority first, equal ones by age.
func compareOwners(a, b *owner) int {
	return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.came, b.came))
}

// rank gives an owner a priority.
func (ph *Physical) rank(o *owner, priority int32) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	o.priority = priority
	ph.owners.Moved()
	ph.spaces.Moved()
}
