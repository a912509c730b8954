package pressure

import (
	"math"
	"math/bits"

	"ferrum_mem/core/device"
)

// Level is how full a device is. Levels are ordered.
type Level int32

// The levels of the C ABI. From where on each counts is a matter of the profile.
const (
	Low      Level = 0 // plenty is free, or nothing is known
	Medium   Level = 1
	High     Level = 2
	Critical Level = 3
)

// String is the level in lower case, as snapshots have it.
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

// MarshalText is String, so that JSON has a level as a word.
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

// hysteresisPercent is how far below its lower bound a level is left.
const hysteresisPercent = 1

// LevelOf is the level of the profile Standard: see Profile.LevelOf.
func LevelOf(total, free uint64) Level { return Standard.LevelOf(total, free) }

// Bounds are the levels of one capacity, in bytes of use.
type Bounds struct {
	// enter is the least use of each level.
	enter [4]uint64
	// leave is the greatest use at which each level is left downwards.
	leave [4]uint64
	known bool
}

// NewBounds computes the bounds of the profile Standard: see Profile.Bounds.
func NewBounds(total uint64) Bounds { return Standard.Bounds(total) }

// LevelOf is the level of a use, without hysteresis.
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

// Next is the level that a use leads to from the present level: up as soon as
// a bound is reached, down only past the hysteresis.
func (b Bounds) Next(present Level, used uint64) Level {
	if !b.known {
		return Low
	}
	// On the way down each level may hold by its own hysteresis.
	for present > Low && used <= b.leave[present] {
		present--
	}
	return max(present, b.LevelOf(used))
}

// Hold gives the uses over which a level stays: low <= used < high.
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

// percentUp is percent/100 of total, rounded up; percent is below 100.
func percentUp(total, percent uint64) uint64 {
	hi, lo := bits.Mul64(total, percent)
	quotient, rest := bits.Div64(hi, lo, 100)
	if rest != 0 {
		quotient++
	}
	return quotient
}

// percentDown is percent/100 of total, rounded down; percent is below 100.
func percentDown(total, percent uint64) uint64 {
	hi, lo := bits.Mul64(total, percent)
	quotient, _ := bits.Div64(hi, lo, 100)
	return quotient
}
