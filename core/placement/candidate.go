package placement

import (
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pressure"
)

// Candidate describes a device.
type Candidate struct {
	Device device.ID
	// Known states that the numbers below are valid. Without them the device cannot be
	// chosen.
	Known bool
	// The memory of the device within its limit. TotalBytes 0 means unknown.
	TotalBytes, UsedBytes, FreeBytes uint64
	// LargestFreeBytes is the longest free run that can be allocated now; 0: not known,
	// and FreeBytes is used instead.
	LargestFreeBytes uint64
	// AlignmentBytes is the alignment of all addresses of the device; 0: 1.
	AlignmentBytes uint64
	// Lacks reports which memory types the device does not have.
	Lacks func(manager.MemoryType) bool
	// Profile is the profile of the device's levels.
	Profile pressure.Profile
}

// Reason is the reason for which a candidate was chosen or rejected. The numbers are
// those of the C ABI.
type Reason int32

// The reasons. With NoInformation and those after it the candidate cannot serve the
// request.
const (
	// Chosen: this candidate was chosen.
	Chosen Reason = 0
	// Outscored: another candidate has a higher score or, with equal scores, comes
	// first in the list.
	Outscored Reason = 1
	// LowerTier: another candidate can serve the request at a lower cost for its
	// device.
	LowerTier Reason = 2
	// NotPreferred: another candidate comes first in the order of preference.
	NotPreferred Reason = 3
	// NotItsTurn: round robin has chosen another candidate.
	NotItsTurn Reason = 4
	// NotTaken: the user's own strategy has chosen another candidate, or none.
	NotTaken Reason = 5

	// NoInformation: the memory of the device is not known.
	NoInformation Reason = 16
	// TooSmall: the device has less free memory than the request needs.
	TooSmall Reason = 17
	// WrongMemoryType: the device has no memory of that type.
	WrongMemoryType Reason = 18
	// NeedsEviction: the device would have to reclaim memory first, and the request is
	// critical.
	NeedsEviction Reason = 19
	// WouldBeCritical: the device would reach the level Critical, and the request
	// rejects that.
	WouldBeCritical Reason = 20
	// Unscored: the original formula gives no number for the device.
	Unscored Reason = 21
)

var reasonNames = [...]string{
	Chosen: "chosen", Outscored: "outscored", LowerTier: "lower_tier", NotPreferred: "not_preferred",
	NotItsTurn: "not_its_turn", NotTaken: "not_taken", NoInformation: "no_information", TooSmall: "too_small",
	WrongMemoryType: "wrong_memory_type", NeedsEviction: "needs_eviction", WouldBeCritical: "would_be_critical",
	Unscored: "unscored",
}

// String returns the reason as a word.
func (r Reason) String() string {
	if r >= 0 && int(r) < len(reasonNames) && reasonNames[r] != "" {
		return reasonNames[r]
	}
	return "unknown"
}

// MarshalText returns String, so that JSON has a reason as a word.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Option is a candidate with its evaluation for a request.
type Option struct {
	Candidate
	// Reason is 0, or why the candidate cannot serve the request.
	Reason Reason
	// NeedBytes is the size plus the worst padding; the largest value if that
	// overflows.
	NeedBytes uint64
	// Tier is 0 if serving the request causes no further cost for the device.
	Tier int
	// LevelAfter is the pressure level of the device after the request, without
	// hysteresis.
	LevelAfter pressure.Level
	// Rank is the position among the preferred devices, from 1; 0: none.
	Rank int
}

// Serves reports whether the candidate can serve the request.
func (o Option) Serves() bool { return o.Reason < NoInformation }

// weigh evaluates a candidate for a request.
func weigh(r Request, c Candidate) Option {
	o := Option{Candidate: c, NeedBytes: need(r, c), Rank: r.rank(c.Device)}
	if !c.Known {
		o.Reason = NoInformation
		return o
	}
	o.LevelAfter = levelAfter(c, o.NeedBytes)
	if r.bringsTrouble(o.LevelAfter) {
		o.Tier++
	}
	largest := c.LargestFreeBytes
	if largest == 0 {
		largest = c.FreeBytes
	}
	evicts := o.NeedBytes > largest
	if evicts {
		o.Tier += 2
	}
	switch {
	case c.Lacks != nil && c.Lacks(r.Type):
		o.Reason = WrongMemoryType
	case o.NeedBytes > c.FreeBytes:
		o.Reason = TooSmall
	case evicts && r.Critical:
		o.Reason = NeedsEviction
	case o.LevelAfter == pressure.Critical && r.RefuseCritical:
		o.Reason = WouldBeCritical
	}
	return o
}

// need returns the size of a request on a device with the worst padding.
func need(r Request, c Candidate) uint64 {
	natural := max(c.AlignmentBytes, 1)
	if r.AlignmentBytes <= natural {
		return r.SizeBytes
	}
	sum, carry := bits.Add64(r.SizeBytes, r.AlignmentBytes-natural, 0)
	if carry != 0 {
		return ^uint64(0)
	}
	return sum
}

func levelAfter(c Candidate, needBytes uint64) pressure.Level {
	free := min(c.FreeBytes, c.TotalBytes)
	return c.Profile.LevelOf(c.TotalBytes, free-min(needBytes, free))
}

func (r Request) bringsTrouble(after pressure.Level) bool {
	if r.Lifetime >= LongLived {
		return after >= pressure.High
	}
	return after >= pressure.Critical
}
