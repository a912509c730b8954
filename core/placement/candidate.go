package placement

import (
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pressure"
)

// Candidate is what is known of a device.
type Candidate struct {
	Device device.ID
	// Known says that the numbers below are there; without them the device cannot
	// be chosen, as there is no telling what it has.
	Known bool
	// Memory of the device as far as its limit allows: TotalBytes 0 means unknown.
	TotalBytes, UsedBytes, FreeBytes uint64
	// LargestFreeBytes is the longest run that can be handed out as things are; 0:
	// not known, and taken to be FreeBytes.
	LargestFreeBytes uint64
	// AlignmentBytes is what all addresses of the device are a multiple of; 0: 1.
	AlignmentBytes uint64
	// Lacks says which memory types the device has not.
	Lacks func(manager.MemoryType) bool
	// Profile is what the device's levels are by.
	Profile pressure.Profile
}

// Reason is why a candidate was chosen or not. The numbers are those of the C ABI.
type Reason int32

// The reasons. From NoInformation on the candidate cannot serve the request.
const (
	// Chosen: this one.
	Chosen Reason = 0
	// Outscored: another one suits better, by score or, of equal scores, by place in
	// the list.
	Outscored Reason = 1
	// LowerTier: another one can serve it with less trouble.
	LowerTier Reason = 2
	// NotPreferred: the order of preference has another one.
	NotPreferred Reason = 3
	// NotItsTurn: round robin is at another one.
	NotItsTurn Reason = 4
	// NotTaken: the user's own strategy took another one, or none.
	NotTaken Reason = 5

	// NoInformation: nothing is known of the device.
	NoInformation Reason = 16
	// TooSmall: less is free than the request needs.
	TooSmall Reason = 17
	// WrongMemoryType: the device has no memory of that type.
	WrongMemoryType Reason = 18
	// NeedsEviction: it would have to give up memory first, and the request is
	// critical.
	NeedsEviction Reason = 19
	// WouldBeCritical: it would come to the level Critical, and the request refuses
	// that.
	WouldBeCritical Reason = 20
	// Unscored: the formula as it was first written gives no number for it.
	Unscored Reason = 21
)

var reasonNames = [...]string{
	Chosen: "chosen", Outscored: "outscored", LowerTier: "lower_tier", NotPreferred: "not_preferred",
	NotItsTurn: "not_its_turn", NotTaken: "not_taken", NoInformation: "no_information", TooSmall: "too_small",
	WrongMemoryType: "wrong_memory_type", NeedsEviction: "needs_eviction", WouldBeCritical: "would_be_critical",
	Unscored: "unscored",
}

// String is the reason as a word.
func (r Reason) String() string {
	if r >= 0 && int(r) < len(reasonNames) && reasonNames[r] != "" {
		return reasonNames[r]
	}
	return "unknown"
}

// MarshalText is String, so that JSON has a reason as a word.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Option is a candidate as weighed for a request.
type Option struct {
	Candidate
	// Reason is 0, or why the candidate cannot serve the request.
	Reason Reason
	// NeedBytes is the size and the worst padding; the largest value when that
	// overflows.
	NeedBytes uint64
	// Tier is 0 for no trouble.
	Tier int
	// LevelAfter is the pressure level that the device would be at, without
	// hysteresis.
	LevelAfter pressure.Level
	// Rank is the place among the preferred devices, from 1 on; 0: none.
	Rank int
}

// Serves says whether the candidate can serve the request.
func (o Option) Serves() bool { return o.Reason < NoInformation }

// weigh holds a candidate against a request.
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

// need is the size of a request on a device with the worst padding.
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
