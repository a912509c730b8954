package pressure

import (
	"math"
	"math/bits"

	"ferrum_mem/core/device"
)

// Profile names the bounds of the levels. The zero value is Standard.
type Profile int32

// The profiles of the C ABI.
const (
	Standard Profile = 0 // 70, 85 and 95 %
	Early    Profile = 1 // 60, 80 and 95 %
)

// ProfileCount is the number of profiles.
const ProfileCount = 2

var profileNames = [ProfileCount]string{"standard", "early"}

// lowerPercent is the inclusive lower bound of each level, by profile.
var lowerPercent = [ProfileCount][Critical + 1]uint64{
	Standard: {Low: 0, Medium: 70, High: 85, Critical: 95},
	Early:    {Low: 0, Medium: 60, High: 80, Critical: 95},
}

// Known says whether the number is a profile's.
func (p Profile) Known() bool { return p >= 0 && p < ProfileCount }

// Check is CodeInvalidArgument for a number that is no profile's.
func (p Profile) Check(op string) error {
	if p.Known() {
		return nil
	}
	return device.Errorf(device.CodeInvalidArgument, op,
		"pressure profile %d is none of 0 to %d", int32(p), ProfileCount-1)
}

// String is the name of the profile.
func (p Profile) String() string {
	if !p.Known() {
		return "unknown"
	}
	return profileNames[p]
}

// MarshalText is String for a known profile, so that JSON has it as a word.
func (p Profile) MarshalText() ([]byte, error) {
	if err := p.Check("pressure.marshal_profile"); err != nil {
		return nil, err
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (p *Profile) UnmarshalText(text []byte) error {
	for i, name := range profileNames {
		if name == string(text) {
			*p = Profile(i)
			return nil
		}
	}
	return device.Errorf(device.CodeInvalidFormat, "pressure.unmarshal_profile",
		"pressure profile %q: want one of %q", text, profileNames)
}

// LowerPercent is the inclusive lower bound of a level in percent. Both the level
// and the profile are known ones.
func (p Profile) LowerPercent(level Level) uint64 { return lowerPercent[p][level] }

// LevelOf is the level of a device with that capacity of which free bytes are
// free; more free than there is counts as all free. A total of 0 means unknown
// and is Low.
func (p Profile) LevelOf(total, free uint64) Level {
	if total == 0 {
		return Low
	}
	// used/total >= percent/100, without a division.
	usedHigh, usedLow := bits.Mul64(total-min(free, total), 100)
	for level := Critical; level > Low; level-- {
		high, low := bits.Mul64(total, lowerPercent[p][level])
		if usedHigh > high || (usedHigh == high && usedLow >= low) {
			return level
		}
	}
	return Low
}

// CheckedLevelOf is LevelOf for a profile that may be none: CodeInvalidArgument.
func (p Profile) CheckedLevelOf(total, free uint64) (Level, error) {
	if err := p.Check("pressure.level_of"); err != nil {
		return Low, err
	}
	return p.LevelOf(total, free), nil
}

// Bounds computes the bounds for a capacity; 0 means unknown, and every use of it
// is Low.
func (p Profile) Bounds(total uint64) Bounds {
	b := Bounds{known: total != 0}
	for level := Medium; level <= Critical; level++ {
		b.enter[level] = percentUp(total, lowerPercent[p][level])
		b.leave[level] = percentDown(total, lowerPercent[p][level]-hysteresisPercent)
	}
	return b
}

// FromUtilization is the level of a ratio, 0 for empty and 1 for full, without
// hysteresis; above 1 is as full as 1. It is for callers who have no more than a
// ratio: where bytes are known LevelOf decides exactly. A ratio that is negative
// or no number is CodeInvalidArgument.
func (p Profile) FromUtilization(ratio float64) (Level, error) {
	const op = "pressure.from_utilization"
	if err := p.Check(op); err != nil {
		return Low, err
	}
	if math.IsNaN(ratio) || ratio < 0 {
		return Low, device.Errorf(device.CodeInvalidArgument, op, "utilization %v is not 0 or above", ratio)
	}
	for level := Critical; level > Low; level-- {
		if ratio >= float64(lowerPercent[p][level])/100 {
			return level, nil
		}
	}
	return Low, nil
}

// ShouldFree says that memory ought to be freed: from High on.
func (l Level) ShouldFree() bool { return l >= High }

// ShouldDeny says that requests ought to be denied: at Critical.
func (l Level) ShouldDeny() bool { return l >= Critical }
