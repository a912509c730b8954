package vmm

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// naiveQuota is the oracle of quota: every number is summed up anew.
type naiveQuota struct {
	limit  uint64
	shares []*naiveShare
}

type naiveShare struct {
	real *share
	bounds
	used uint64
}

func (n *naiveQuota) guaranteed() (sum uint64) {
	for _, s := range n.shares {
		sum += s.guaranteed
	}
	return sum
}

// available is the limit less what is in use and what the others are still owed.
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

// mustGive finds the next giver by looking for the one that nobody comes before.
func (n *naiveQuota) givers() (order []*share) {
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

// settled says that nothing is in use beyond the present limits.
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
				if limit := few.Draw(t, "limit") * 3; limit >= naive.guaranteed() {
					naive.limit, real.limit = limit, limit
				}
			},
			"add": func(t *rapid.T) {
				b := drawBounds()
				sum, ok := real.guaranteesWith(nil, b.guaranteed)
				require.True(t, ok)
				require.Equal(t, naive.guaranteed()+b.guaranteed, sum)
				if sum <= naive.limit {
					naive.shares = append(naive.shares, &naiveShare{real: real.add(b), bounds: b})
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
				require.Equal(t, naive.guaranteed()-s.guaranteed+b.guaranteed, sum)
				if sum <= naive.limit {
					real.change(s.real, b)
					s.bounds = b
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
			"": func(t *rapid.T) { sameQuota(t, naive, real) },
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
		require.Equal(t, naive.available(s), real.available(s.real))
		require.GreaterOrEqual(t, real.reach(s.real), min(s.guaranteed, s.most))
		require.LessOrEqual(t, real.reach(s.real), min(naive.limit, s.most))
		if naive.settled() {
			require.GreaterOrEqual(t, real.reach(s.real), min(s.used, s.most))
		}
	}
	require.Equal(t, used, real.used)
	require.Equal(t, naive.givers(), append([]*share(nil), real.givers()...))
}

func TestGuaranteesThatOverflowAreSeen(t *testing.T) {
	q := &quota{limit: 100}
	q.add(bounds{guaranteed: 10, most: 20})
	_, ok := q.guaranteesWith(nil, noBound)
	require.False(t, ok)
}
