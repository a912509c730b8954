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

// Known reports whether the number is that of a profile.
func (p Profile) Known() bool { return p >= 0 && p < ProfileCount }

// Check returns CodeInvalidArgument for a number that is not that of a profile.
func (p Profile) Check(op string) error {
	if p.Known() {
		return nil
	}
	return device.Errorf(device.CodeInvalidArgument, op,
		"pressure profile %d is not from 0 to %d", int32(p), ProfileCount-1)
}

// String returns the name of the profile.
func (p Profile) String() string {
	if !p.Known() {
		return "unknown"
	}
	return profileNames[p]
}

// MarshalText returns String for a known profile, so that JSON has it as a word.
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

// LowerPercent returns the inclusive lower bound of a level in percent. The level and the
// profile must be known.
func (p Profile) LowerPercent(level Level) uint64 { return lowerPercent[p][level] }

// LevelOf returns the level of a device with total bytes, of which free bytes are free. A
// free above total counts as total. A total of 0 means unknown; its level is Low.
func (p Profile) LevelOf(total, free uint64) Level {
	if total == 0 {
		return Low
	}
	// This is used/total >= percent/100, without a division.
	usedHigh, usedLow := bits.Mul64(total-min(free, total), 100)
	for level := Critical; level > Low; level-- {
		high, low := bits.Mul64(total, lowerPercent[p][level])
		if usedHigh > high || (usedHigh == high && usedLow >= low) {
			return level
		}
	}
	return Low
}

// CheckedLevelOf is LevelOf for a profile that may be unknown; it returns
// CodeInvalidArgument then.
func (p Profile) CheckedLevelOf(total, free uint64) (Level, error) {
	if err := p.Check("pressure.level_of"); err != nil {
		return Low, err
	}
	return p.LevelOf(total, free), nil
}

// Bounds computes the bounds for a capacity. 0 means unknown: every use is Low.
func (p Profile) Bounds(total uint64) Bounds {
	b := Bounds{known: total != 0}
	for level := Medium; level <= Critical; level++ {
		b.enter[level] = percentUp(total, lowerPercent[p][level])
		b.leave[level] = percentDown(total, lowerPercent[p][level]-hysteresisPercent)
	}
	return b
}

// FromUtilization returns the level of a ratio, 0 for empty and 1 for full, without
// hysteresis. A ratio above 1 counts as 1. It is for callers that know only a ratio;
// LevelOf is exact. A ratio that is negative or not a number gives CodeInvalidArgument.
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

// ShouldFree reports whether the program should free memory: at High and above.
func (l Level) ShouldFree() bool { return l >= High }

// ShouldDeny reports whether the program should reject requests: at Critical.
func (l Level) ShouldDeny() bool { return l >= Critical }
