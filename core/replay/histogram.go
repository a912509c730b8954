package replay

import "math/bits"

// histogram counts durations. Up to 2^exactBits ns each nanosecond has its own count.
// Above that each power of two is divided into 2^subBits parts, so a quantile is at
// most 1/2^subBits too low. The size is constant.
type histogram struct {
	counts [1<<exactBits + (63-exactBits)<<subBits]uint64
	total  uint64
}

const (
	exactBits = 12
	subBits   = 7
)

// add counts one duration. A negative duration (the cost of the clock exceeded the
// measured time) counts as 0.
func (h *histogram) add(ns int64) {
	h.counts[bucketOf(uint64(max(ns, 0)))]++
	h.total++
}

func bucketOf(ns uint64) int {
	if ns < 1<<exactBits {
		return int(ns)
	}
	power := bits.Len64(ns) - 1 // at least exactBits, at most 62
	part := ns >> (power - subBits) & (1<<subBits - 1)
	return 1<<exactBits + (power-exactBits)<<subBits + int(part)
}

// lowest returns the shortest duration of a bucket.
func lowest(bucket int) int64 {
	if bucket < 1<<exactBits {
		return int64(bucket)
	}
	above := bucket - 1<<exactBits
	power, part := above>>subBits+exactBits, above&(1<<subBits-1)
	return int64(1<<subBits+part) << (power - subBits)
}

// quantile returns the duration below or at which a share q of all durations lies; 0
// without durations.
func (h *histogram) quantile(q float64) int64 {
	rank := uint64(q * float64(h.total))
	var seen uint64
	for bucket, n := range h.counts {
		if seen += n; seen > rank {
			return lowest(bucket)
		}
	}
	return 0
}

// merge adds the counts of another histogram.
func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
}
