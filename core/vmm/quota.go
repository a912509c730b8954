package vmm

import (
	"cmp"
	"math"

	"ferrum_mem/core/internal/sorting"
)

// The arithmetic of an elastic pool, in pages.
//
// A model's guarantee is reserved for it: other models cannot use the unused part. So a
// model within its guarantee always gets its pages, and the rest of the limit goes to
// any model that requests it. The limit can change while pages are in use. If more
// pages are in use than a new limit allows, no page is taken away: available is 0 until
// enough pages were freed.
//
// A guarantee is effective only as far as pages back it: pages that no other model uses
// or is guaranteed. The sum over the models of max(used, guaranteed) stays within the
// limit, so a new guarantee never weakens an existing one. The rest of a requested
// guarantee waits if the model allows that. It becomes effective when pages are freed:
// the highest priority first, and of equal priority the oldest registration first.
// Waiting guarantees come before waiting allocations.
//
// When pages are short, the pool requests pages from models above their guarantee.
// The order is: the lowest priority first, then the model furthest above its guarantee,
// then the oldest registration. The pool requests at most the pages that a model has above its
// guarantee. The model that needs the pages has its place in the same order.

// noBound is the maximum of a model that has none.
const noBound = uint64(math.MaxUint64)

// share is one model's part of an elastic pool, in pages.
type share struct {
	// guaranteed is reserved for the model and most is its maximum. asked is the
	// requested guarantee: the part above guaranteed waits for pages.
	guaranteed, asked, most uint64
	priority                int32
	// order counts registrations.
	order uint64
	// used counts the model's pages: mapped, retiring, or about to be mapped.
	used uint64
	// booked is used plus the pages that the model's allocations wait for in the pool's
	// queue.
	booked uint64
}

// unused returns the part of the guarantee that is not in use.
func (s *share) unused() uint64 { return s.guaranteed - min(s.used, s.guaranteed) }

// excess returns the pages above the guarantee.
func (s *share) excess() uint64 { return s.used - min(s.used, s.guaranteed) }

// over returns the number of pages above the maximum if the model grows by pages.
func (s *share) over(pages uint64) uint64 {
	sum := s.booked + pages
	return sum - min(sum, s.most)
}

// within reports whether the model stays within its guarantee if it grows by pages.
func (s *share) within(pages uint64) bool { return pages <= s.unused() }

// quota is the limit of an elastic pool and the shares of its models. The zero value
// allows nothing. The lock of its owner guards it.
type quota struct {
	limit uint64
	// used, guaranteed, asked and unused are sums over the shares.
	used, guaranteed, asked, unused uint64
	shares                          map[*share]struct{}
	registered                      uint64
}

// bounds has the settings of a share; guaranteed is the requested guarantee.
type bounds struct {
	guaranteed, most uint64
	priority         int32
}

// guaranteesWith returns the sum of the requested guarantees if s, which may be new (nil),
// requests guaranteed pages; false: the sum overflows.
func (q *quota) guaranteesWith(s *share, guaranteed uint64) (uint64, bool) {
	others := q.asked
	if s != nil {
		others -= s.asked
	}
	sum := others + guaranteed
	return sum, sum >= others
}

// backed returns the part of a requested guarantee that can be effective now for a share,
// which may be new (nil). This part consists of its present guarantee, the pages that it
// uses, and pages that are neither used by another model nor guaranteed to one.
func (q *quota) backed(s *share, asked uint64) uint64 {
	if s == nil {
		s = &share{}
	}
	others := q.used - s.used + q.unused - s.unused()
	return min(asked, max(q.limit-min(others, q.limit), s.used, s.guaranteed))
}

// grow makes waiting guarantees effective as far as pages back them now.
func (q *quota) grow() {
	if q.asked == q.guaranteed {
		return
	}
	var waiting []*share
	for s := range q.shares {
		if s.asked > s.guaranteed {
			waiting = append(waiting, s)
		}
	}
	sorting.By(waiting, func(a, b *share) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.order, b.order))
	})
	for _, s := range waiting {
		q.guarantee(s, q.backed(s, s.asked))
	}
}

// guarantee sets the effective guarantee of a share.
func (q *quota) guarantee(s *share, pages uint64) {
	before := s.unused()
	q.guaranteed += pages - s.guaranteed
	s.guaranteed = pages
	q.unused += s.unused() - before
}

// setLimit changes the limit.
func (q *quota) setLimit(pages uint64) {
	q.limit = pages
	q.grow()
}

// add registers a share. The caller has checked that the guarantee fits beside the
// others. The part that is not backed waits.
func (q *quota) add(b bounds) *share {
	s := &share{order: q.registered}
	q.registered++
	if q.shares == nil {
		q.shares = make(map[*share]struct{})
	}
	q.shares[s] = struct{}{}
	q.change(s, b)
	return s
}

// remove removes a share. The pages that it still uses have no guarantee any more and
// are discharged like others.
func (q *quota) remove(s *share) {
	delete(q.shares, s)
	q.change(s, bounds{most: s.most, priority: s.priority})
}

// change sets other bounds for a share. The conditions of add apply.
func (q *quota) change(s *share, b bounds) {
	q.asked += b.guaranteed - s.asked
	s.asked, s.most, s.priority = b.guaranteed, b.most, b.priority
	q.guarantee(s, q.backed(s, b.guaranteed))
	q.grow()
}

// over returns the number of pages above the limit if the share grows by pages. These pages
// must be freed first.
func (q *quota) over(s *share, pages uint64) uint64 {
	sum := q.used + q.unused - s.unused() + pages
	return sum - min(sum, q.limit)
}

// available returns the number of pages by which the share may grow now.
func (q *quota) available(s *share) uint64 {
	taken := q.used + q.unused - s.unused()
	return min(q.limit-min(taken, q.limit), s.most-min(s.used, s.most))
}

// reach returns the most pages that the share can ever have under the present limits.
// The other models may shrink to their guarantees, but not below.
func (q *quota) reach(s *share) uint64 {
	kept := q.guaranteed - s.guaranteed
	return min(s.most, q.limit-min(kept, q.limit))
}

// book counts pages that an allocation requests from the pool. over has allowed them.
func (s *share) book(pages uint64) { s.booked += pages }

// unbook undoes book.
func (s *share) unbook(pages uint64) { s.booked -= pages }

// charge counts booked pages as used. over has allowed them.
func (q *quota) charge(s *share, pages uint64) {
	before := s.unused()
	s.used += pages
	q.used += pages
	q.unused += s.unused() - before
	q.grow()
}

// discharge removes pages from the used ones.
func (q *quota) discharge(s *share, pages uint64) {
	before := s.unused()
	s.used -= pages
	s.unbook(pages)
	q.used -= pages
	q.unused += s.unused() - before
	q.grow()
}

// reclaimOrder lists the models that can release pages, in the order of the requests.
func (q *quota) reclaimOrder() []*share {
	candidates := make([]*share, 0, len(q.shares))
	for s := range q.shares {
		if s.excess() > 0 {
			candidates = append(candidates, s)
		}
	}
	sorting.By(candidates, func(a, b *share) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(b.excess(), a.excess()), cmp.Compare(a.order, b.order))
	})
	return candidates
}
