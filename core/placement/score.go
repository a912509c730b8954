package placement

import (
	"math"
	"math/bits"
)

// BestFitScore returns the score of a device for a request, by the formula of best
// fit:
//
//	waste       = (free - size) / total
//	utilisation = (used / total * 100) / 100
//	score       = 1 - waste - |utilisation - 0.5| * 0.5
//	              + (1 / rank) * 0.2
//
// where rank is the place among the preferred devices, and the last line is 0 for
// a device that is not among them. Every operation is one of single precision,
// rounded to nearest, in the order in which it is written. A device of unknown
// capacity has waste 0 and utilisation 0. size is as asked for, without padding; a
// size above free counts as free.
func BestFitScore(o Option, sizeBytes uint64) float32 {
	if o.TotalBytes == 0 {
		return bestFitScore(0, 0, o.Rank)
	}
	total := float32(o.TotalBytes)
	waste := float32(o.FreeBytes-min(sizeBytes, o.FreeBytes)) / total
	return bestFitScore(waste, utilisation(o), o.Rank)
}

// OriginalScore is the original version of BestFitScore. It has no rule for an unknown
// capacity, for which the result is NaN or minus infinity.
func OriginalScore(o Option, sizeBytes uint64) float32 {
	waste := float32(o.FreeBytes-min(sizeBytes, o.FreeBytes)) / float32(o.TotalBytes)
	used := float32(0)
	if o.TotalBytes > 0 {
		used = utilisation(o)
	}
	return bestFitScore(waste, used, o.Rank)
}

// The conversions keep a compiler from fusing two operations into one rounding.

func utilisation(o Option) float32 {
	percent := float32(float32(float32(o.UsedBytes)/float32(o.TotalBytes)) * 100)
	return float32(percent / 100)
}

func bestFitScore(waste, utilisation float32, rank int) float32 {
	apart := float32(utilisation - 0.5)
	if apart < 0 {
		apart = -apart
	}
	score := float32(float32(1-waste) - float32(apart*0.5))
	bonus := float32(0)
	if rank > 0 {
		bonus = float32(float32(1/float32(float32(rank-1)+1)) * 0.2)
	}
	return float32(score + bonus)
}

// shareUnit is the unit of the scores of spread and pack: a millionth.
const shareUnit = 1_000_000

// FreeShare returns the share of a device that would be free after the request, in
// millionths, rounded down: the score of spread. It is 0 for an unknown capacity.
func FreeShare(o Option) uint64 {
	free := min(o.FreeBytes, o.TotalBytes)
	return share(free-min(o.NeedBytes, free), o.TotalBytes)
}

// FilledShare returns the share that would not be free, in millionths, rounded down:
// the score of pack. It is 0 for an unknown capacity.
func FilledShare(o Option) uint64 {
	free := min(o.FreeBytes, o.TotalBytes)
	left := free - min(o.NeedBytes, free)
	return share(o.TotalBytes-left, o.TotalBytes)
}

// share returns part/whole in millionths; part is at most whole.
func share(part, whole uint64) uint64 {
	if whole == 0 {
		return 0
	}
	high, low := bits.Mul64(part, shareUnit)
	quotient, _ := bits.Div64(high, low, whole)
	return quotient
}

// preferenceBonus returns what spread and pack add for a preferred device: a fifth of
// the whole for the first, half of that for the second, a third of that for the third,
// and so on.
func preferenceBonus(rank int) uint64 {
	if rank == 0 {
		return 0
	}
	return shareUnit / 5 / uint64(rank)
}

// noScore reports whether a formula has no number for a device.
func noScore(score float64) bool { return math.IsNaN(score) || math.IsInf(score, -1) }
