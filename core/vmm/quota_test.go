package vmm

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// naiveQuota is the reference model of quota: it computes every sum again.
type naiveQuota struct {
	limit  uint64
	shares []*naiveShare
	// acted is the share whose settings the last step changed; limited states that it
	// changed the limit.
	acted   *naiveShare
	limited bool
	// wasSettled and before have the state before the last step.
	wasSettled bool
	before     map[*naiveShare]uint64
}

// naiveShare has the requested guarantee in asked, and the effective one in its bounds.
type naiveShare struct {
	real *share
	bounds
	asked, used uint64
}

func (n *naiveQuota) sum(of func(*naiveShare) uint64) (sum uint64) {
	for _, s := range n.shares {
		sum += of(s)
	}
	return sum
}

func (n *naiveQuota) guaranteed() uint64 {
	return n.sum(func(s *naiveShare) uint64 { return s.guaranteed })
}

func (n *naiveQuota) askedFor() uint64 {
	return n.sum(func(s *naiveShare) uint64 { return s.asked })
}

// raise makes a guarantee effective page by page, as far as it was requested, and
// either the share uses the page or no share uses it or is guaranteed it.
func (n *naiveQuota) raise(s *naiveShare) {
	for s.guaranteed < s.asked {
		s.guaranteed++
		if s.guaranteed > s.used && !n.settled() {
			s.guaranteed--
			return
		}
	}
}

// raiseAll raises all waiting guarantees, in their order.
func (n *naiveQuota) raiseAll() {
	for priority := int32(1); priority >= -1; priority-- {
		for _, s := range n.shares {
			if s.priority == priority {
				n.raise(s)
			}
		}
	}
}

// ask sets other bounds for a share.
func (n *naiveQuota) ask(s *naiveShare, b bounds) {
	s.asked, s.most, s.priority = b.guaranteed, b.most, b.priority
	s.guaranteed = min(s.guaranteed, s.asked)
	n.raise(s)
	n.acted = s
}

// holds checks the invariants that no step may break.
func (n *naiveQuota) holds(t *rapid.T) {
	require.LessOrEqual(t, n.guaranteed(), n.limit)
	for _, s := range n.shares {
		require.LessOrEqual(t, s.guaranteed, s.asked)
		if s != n.acted {
			require.GreaterOrEqual(t, s.guaranteed, n.before[s], "no other guarantee becomes smaller")
		}
		if n.settled() {
			require.GreaterOrEqual(t, n.available(s), s.guaranteed-min(s.used, s.guaranteed), "guaranteed pages are available at once")
		}
	}
	if n.wasSettled && !n.limited {
		require.True(t, n.settled(), "only a lower limit removes pages of guarantees")
	}
	n.wasSettled, n.limited, n.acted = n.settled(), false, nil
	n.before = map[*naiveShare]uint64{}
	for _, s := range n.shares {
		n.before[s] = s.guaranteed
	}
}

// available returns the limit minus the pages in use and the unused guarantees of the
// others.
func (n *naiveQuota) available(of *naiveShare) uint64 {
	left := int64(n.limit)
	for _, s := range n.shares {
		left -= int64(s.used)
		if s != of && s.used < s.guaranteed {
			left -= int64(s.guaranteed - s.used)
		}
	}
	return uint64(max(0, min(left, int64(of.most)-int64(of.used))))
}

// reclaimOrder finds the next giver by a search for the one that no other precedes.
func (n *naiveQuota) reclaimOrder() (order []*share) {
	left := append([]*naiveShare{}, n.shares...)
	for {
		var next *naiveShare
		at := 0
		for i, s := range left {
			if s.used <= s.guaranteed {
				continue
			}
			if next == nil || s.priority < next.priority ||
				(s.priority == next.priority && s.used-s.guaranteed > next.used-next.guaranteed) {
				next, at = s, i
			}
		}
		if next == nil {
			return order
		}
		order = append(order, next.real)
		left = append(left[:at:at], left[at+1:]...)
	}
}

// settled reports whether nothing is in use above the present limits.
func (n *naiveQuota) settled() bool {
	owed := uint64(0)
	for _, s := range n.shares {
		owed += max(s.used, s.guaranteed)
	}
	return owed <= n.limit
}

func TestQuotaIsTheSumOfItsShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		naive, real := &naiveQuota{}, &quota{}
		few := rapid.Uint64Range(0, 20)
		drawBounds := func() bounds {
			b := bounds{guaranteed: few.Draw(t, "guaranteed"), priority: rapid.Int32Range(-1, 1).Draw(t, "priority")}
			b.most = b.guaranteed + few.Draw(t, "more")
			return b
		}
		pick := func() *naiveShare {
			if len(naive.shares) == 0 {
				return nil
			}
			return rapid.SampledFrom(naive.shares).Draw(t, "share")
		}
		t.Repeat(map[string]func(*rapid.T){
			"limit": func(t *rapid.T) {
				if limit := few.Draw(t, "limit") * 3; limit >= naive.askedFor() {
					naive.limit, naive.limited = limit, true
					real.setLimit(limit)
				}
			},
			"add": func(t *rapid.T) {
				b := drawBounds()
				sum, ok := real.guaranteesWith(nil, b.guaranteed)
				require.True(t, ok)
				require.Equal(t, naive.askedFor()+b.guaranteed, sum)
				if sum <= naive.limit {
					backed := real.backed(nil, b.guaranteed)
					s := &naiveShare{real: real.add(b)}
					naive.shares = append(naive.shares, s)
					naive.ask(s, b)
					require.Equal(t, s.guaranteed, backed)
				}
			},
			"remove": func(t *rapid.T) {
				if s := pick(); s != nil {
					real.discharge(s.real, s.used)
					real.remove(s.real)
					naive.shares = deleteFrom(naive.shares, s)
				}
			},
			"change": func(t *rapid.T) {
				s, b := pick(), drawBounds()
				if s == nil {
					return
				}
				sum, _ := real.guaranteesWith(s.real, b.guaranteed)
				require.Equal(t, naive.askedFor()-s.asked+b.guaranteed, sum)
				if sum <= naive.limit {
					backed := real.backed(s.real, b.guaranteed)
					real.change(s.real, b)
					naive.ask(s, b)
					require.Equal(t, s.guaranteed, backed)
				}
			},
			"take": func(t *rapid.T) {
				s := pick()
				if s == nil {
					return
				}
				available, owed := naive.available(s), s.guaranteed-min(s.used, s.guaranteed)
				if naive.settled() {
					require.GreaterOrEqual(t, available, owed, "a guarantee is never broken")
				}
				pages := rapid.Uint64Range(0, available).Draw(t, "pages")
				s.real.book(pages)
				real.charge(s.real, pages)
				s.used += pages
			},
			"give": func(t *rapid.T) {
				if s := pick(); s != nil {
					pages := rapid.Uint64Range(0, s.used).Draw(t, "pages")
					real.discharge(s.real, pages)
					s.used -= pages
				}
			},
			"": func(t *rapid.T) {
				naive.raiseAll()
				naive.holds(t)
				sameQuota(t, naive, real)
			},
		})
	})
}

func deleteFrom(from []*naiveShare, gone *naiveShare) (left []*naiveShare) {
	for _, s := range from {
		if s != gone {
			left = append(left, s)
		}
	}
	return left
}

func sameQuota(t *rapid.T, naive *naiveQuota, real *quota) {
	require.Equal(t, naive.guaranteed(), real.guaranteed)
	require.LessOrEqual(t, real.guaranteed, real.limit)
	used := uint64(0)
	for _, s := range naive.shares {
		used += s.used
		require.Equal(t, s.used, s.real.used)
		require.Equal(t, []uint64{s.asked, s.guaranteed}, []uint64{s.real.asked, s.real.guaranteed})
		require.Equal(t, naive.available(s), real.available(s.real))
		require.GreaterOrEqual(t, real.reach(s.real), min(s.guaranteed, s.most))
		require.LessOrEqual(t, real.reach(s.real), min(naive.limit, s.most))
		if naive.settled() {
			require.GreaterOrEqual(t, real.reach(s.real), min(s.used, s.most))
		}
	}
	require.Equal(t, used, real.used)
	require.Equal(t, naive.reclaimOrder(), append([]*share(nil), real.reclaimOrder()...))
}

func TestGuaranteesThatOverflowAreSeen(t *testing.T) {
	q := &quota{limit: 100}
	q.add(bounds{guaranteed: 10, most: 20})
	_, ok := q.guaranteesWith(nil, noBound)
	require.False(t, ok)
}
