package pressure

import (
	"math"
	"math/bits"

	"ferrum_mem/core/device"
)

// Level is the pressure level of a device. Levels are ordered.
type Level int32

// The levels of the C ABI. The profile states where each of them begins.
const (
	Low      Level = 0 // much memory is free, or nothing is known
	Medium   Level = 1
	High     Level = 2
	Critical Level = 3
)

// String returns the level in lower case, as snapshots show it.
func (l Level) String() string {
	switch l {
	case Low:
		return "low"
	case Medium:
		return "medium"
	case High:
		return "high"
	case Critical:
		return "critical"
	}
	return "unknown"
}

// MarshalText returns String, so that JSON has a level as a word.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (l *Level) UnmarshalText(text []byte) error {
	for level := Low; level <= Critical; level++ {
		if level.String() == string(text) {
			*l = level
			return nil
		}
	}
	return device.Errorf(device.CodeInvalidFormat, "pressure.unmarshal",
		"pressure level %q: want low, medium, high or critical", text)
}

// hysteresisPercent is the distance, in percent of the total, by which the use must be
// below the lower bound of a level before the level falls.
const hysteresisPercent = 1

// LevelOf returns the level of the profile Standard: see Profile.LevelOf.
func LevelOf(total, free uint64) Level { return Standard.LevelOf(total, free) }

// Bounds has the bounds of the levels for one capacity, in used bytes.
type Bounds struct {
	// enter is the lowest use of each level.
	enter [4]uint64
	// leave is the highest use at which each level falls.
	leave [4]uint64
	known bool
}

// NewBounds computes the bounds of the profile Standard: see Profile.Bounds.
func NewBounds(total uint64) Bounds { return Standard.Bounds(total) }

// LevelOf returns the level of a use, without hysteresis.
func (b Bounds) LevelOf(used uint64) Level {
	if !b.known {
		return Low
	}
	for level := Critical; level > Low; level-- {
		if used >= b.enter[level] {
			return level
		}
	}
	return Low
}

// Next returns the level that follows the present one with a given use. The level rises
// as soon as a bound is reached, and falls only beyond the hysteresis.
func (b Bounds) Next(present Level, used uint64) Level {
	if !b.known {
		return Low
	}
	// While the level falls, the hysteresis of each level on the way applies.
	for present > Low && used <= b.leave[present] {
		present--
	}
	return max(present, b.LevelOf(used))
}

// Hold returns the range of use in which a level does not change: low <= used < high.
func (b Bounds) Hold(present Level) (low, high uint64) {
	low, high = 0, math.MaxUint64
	if !b.known {
		return low, high
	}
	if present > Low {
		low = b.leave[present] + 1
	}
	if present < Critical {
		high = b.enter[present+1]
	}
	return low, high
}

// percentUp returns percent/100 of total, rounded up; percent is below 100.
func percentUp(total, percent uint64) uint64 {
	hi, lo := bits.Mul64(total, percent)
	quotient, rest := bits.Div64(hi, lo, 100)
	if rest != 0 {
		quotient++
	}
	return quotient
}

// percentDown returns percent/100 of total, rounded down; percent is below 100.
func percentDown(total, percent uint64) uint64 {
	hi, lo := bits.Mul64(total, percent)
	quotient, _ := bits.Div64(hi, lo, 100)
	return quotient
}
