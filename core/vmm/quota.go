package vmm

import (
	"cmp"
	"math"
	"slices"
)

// The arithmetic of an elastic pool, in pages.
//
// A model's guarantee is kept free for it: of the limit, what the others have not
// used of their guarantees is not to be had. So a model within its guarantee
// always finds its pages, whatever the others do, and the rest goes to whoever
// asks. Limits move while pages are in use. When more is in use than a new limit
// allows, nothing is taken away: what may be had is 0 until enough came back.
//
// A guarantee is given only as far as pages back it that nobody else uses or is
// guaranteed (backed): what the models use or are guaranteed, whichever is more, stays
// within the limit, so a new guarantee never weakens one that is there. What a model
// asked for beyond that waits, if it said so, and becomes effective as pages come back:
// the highest priority first, of one priority the one that was registered first, and all
// of them before the allocations that stand in line.
//
// When pages are short, the models above their guarantee are asked to give: the
// lowest priority first, of one priority the one that is furthest above its
// guarantee, of those the one that was registered first. Nobody is asked for more
// than it has above its guarantee. The model that needs the pages is asked in its
// place like the others.

// noBound is the most of a model that has no maximum.
const noBound = uint64(math.MaxUint64)

// share is one model's part of an elastic pool.
type share struct {
	// guaranteed is kept free for the model, most is what it may have at most. asked is
	// the guarantee that was asked for: what is above guaranteed waits for pages.
	guaranteed, asked, most uint64
	priority                int32
	// order counts registrations.
	order uint64
	// used is what the model has: mapped, retiring, or on its way to be mapped.
	used uint64
	// booked is used and what its allocations wait for in the line of the pool.
	booked uint64
}

// unused is what is kept free for the model and not in use.
func (s *share) unused() uint64 { return s.guaranteed - min(s.used, s.guaranteed) }

// excess is what the model has above its guarantee.
func (s *share) excess() uint64 { return s.used - min(s.used, s.guaranteed) }

// over is how many pages too many it would be for the model's own maximum if it had
// so many more.
func (s *share) over(pages uint64) uint64 {
	sum := s.booked + pages
	return sum - min(sum, s.most)
}

// within says whether the model stays within its guarantee with so many more.
func (s *share) within(pages uint64) bool { return pages <= s.unused() }

// quota is the limit of an elastic pool and the models' shares of it. The zero
// value allows nothing. Its owner's lock guards it.
type quota struct {
	limit uint64
	// used, guaranteed, asked and unused are sums over the shares.
	used, guaranteed, asked, unused uint64
	shares                          map[*share]struct{}
	registered                      uint64
}

// bounds are the settings of a share; guaranteed is what is asked for.
type bounds struct {
	guaranteed, most uint64
	priority         int32
}

// guaranteesWith is the sum of the guarantees that were asked for if s, which may be
// new, had so many pages; false: that overflows.
func (q *quota) guaranteesWith(s *share, guaranteed uint64) (uint64, bool) {
	others := q.asked
	if s != nil {
		others -= s.asked
	}
	sum := others + guaranteed
	return sum, sum >= others
}

// backed is how much the guarantee of a share, which may be new, can be now, if so much
// is asked for: its own present guarantee and what it uses are, and beyond that pages
// that nobody else uses or is guaranteed.
func (q *quota) backed(s *share, asked uint64) uint64 {
	if s == nil {
		s = &share{}
	}
	others := q.used - s.used + q.unused - s.unused()
	return min(asked, max(q.limit-min(others, q.limit), s.used, s.guaranteed))
}

// grow makes guarantees effective that waited for pages, as far as there are any now.
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
	slices.SortFunc(waiting, func(a, b *share) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.order, b.order))
	})
	for _, s := range waiting {
		q.guarantee(s, q.backed(s, s.asked))
	}
}

// guarantee gives a share another guarantee.
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

// add registers a share. The caller has seen that what it asks for fits beside the
// others; what is not backed waits.
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

// remove takes out a share. Without a guarantee what it still uses comes back like
// any other.
func (q *quota) remove(s *share) {
	delete(q.shares, s)
	q.change(s, bounds{most: s.most, priority: s.priority})
}

// change gives a share other bounds, as add.
func (q *quota) change(s *share, b bounds) {
	q.asked += b.guaranteed - s.asked
	s.asked, s.most, s.priority = b.guaranteed, b.most, b.priority
	q.guarantee(s, q.backed(s, b.guaranteed))
	q.grow()
}

// over is how many pages too many it would be for the limit if the share had so many
// more: what would have to come back first.
func (q *quota) over(s *share, pages uint64) uint64 {
	sum := q.used + q.unused - s.unused() + pages
	return sum - min(sum, q.limit)
}

// available is what the share may have now.
func (q *quota) available(s *share) uint64 {
	taken := q.used + q.unused - s.unused()
	return min(q.limit-min(taken, q.limit), s.most-min(s.used, s.most))
}

// reach is the most that the share can ever have at once under the present
// limits: the others may fall back to their guarantees, but not below.
func (q *quota) reach(s *share) uint64 {
	kept := q.guaranteed - s.guaranteed
	return min(s.most, q.limit-min(kept, q.limit))
}

// book enters pages that an allocation asks the pool for, which over has
// allowed.
func (s *share) book(pages uint64) { s.booked += pages }

// unbook takes them out again.
func (s *share) unbook(pages uint64) { s.booked -= pages }

// charge enters booked pages as in use, which over has allowed.
func (q *quota) charge(s *share, pages uint64) {
	before := s.unused()
	s.used += pages
	q.used += pages
	q.unused += s.unused() - before
	q.grow()
}

// discharge takes pages out that are not in use any more.
func (q *quota) discharge(s *share, pages uint64) {
	before := s.unused()
	s.used -= pages
	s.unbook(pages)
	q.used -= pages
	q.unused += s.unused() - before
	q.grow()
}

// givers is who is asked to give, in this order.
func (q *quota) givers() []*share {
	givers := make([]*share, 0, len(q.shares))
	for s := range q.shares {
		if s.excess() > 0 {
			givers = append(givers, s)
		}
	}
	slices.SortFunc(givers, func(a, b *share) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(b.excess(), a.excess()), cmp.Compare(a.order, b.order))
	})
	return givers
}
