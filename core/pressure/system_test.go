package pressure

import (
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

func stalled(some, full uint32) device.SystemPressure {
	absent := device.Errorf(device.CodeUnsupported, "test", "not there")
	return device.SystemPressure{
		Machine: device.StallReading{Stalls: device.Stalls{
			Some: device.Stall{Avg10: some}, Full: device.Stall{Avg10: full},
		}},
		Group: device.StallReading{Err: absent}, Events: device.EventReading{Err: absent},
		High: device.LimitReading{Err: absent},
	}
}

func TestStallsOnBothSidesOfEveryBound(t *testing.T) {
	for _, c := range []struct {
		some, full uint32
		level      Level
	}{
		{0, 0, Low}, {999, 0, Low}, {1000, 0, Medium}, {3999, 999, Medium}, {4000, 0, High}, {0, 1000, High},
		{10000, 3999, High}, {0, 4000, Critical}, {10000, 10000, Critical},
	} {
		var m SystemMeter
		require.Equal(t, c.level, m.Next(stalled(c.some, c.full), 0), "%+v", c)
	}
}

func TestStallLevelEndsBelowHalfOfItsBound(t *testing.T) {
	var m SystemMeter
	require.Equal(t, Critical, m.Next(stalled(5000, 4000), 0))
	require.Equal(t, Critical, m.Next(stalled(5000, 2000), 0))
	require.Equal(t, High, m.Next(stalled(5000, 1999), 0))
	require.Equal(t, High, m.Next(stalled(2000, 0), 0))
	require.Equal(t, Medium, m.Next(stalled(1999, 499), 0))
	require.Equal(t, Medium, m.Next(stalled(500, 0), 0))
	require.Equal(t, Low, m.Next(stalled(499, 0), 0))
}

// The rule written with fractions: a level begins at its bound and ends below half of it.
func TestStallsAgainstTheRule(t *testing.T) {
	bound := func(some, full uint32, share *big.Rat) Level {
		at := func(value, bound uint32) bool {
			return new(big.Rat).SetInt64(int64(value)).Cmp(new(big.Rat).Mul(share, new(big.Rat).SetInt64(int64(bound)))) >= 0
		}
		switch {
		case at(full, fullCritical):
			return Critical
		case at(full, fullHigh) || at(some, someHigh):
			return High
		case at(some, someMedium):
			return Medium
		}
		return Low
	}
	rapid.Check(t, func(t *rapid.T) {
		var m SystemMeter
		level := Low
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			full := rapid.Uint32Range(0, 10000).Draw(t, "full")
			some := rapid.Uint32Range(full, 10000).Draw(t, "some")
			held := min(level, bound(some, full, big.NewRat(1, 2)))
			level = max(held, bound(some, full, big.NewRat(1, 1)))
			require.Equal(t, level, m.Next(stalled(some, full), 0))
		}
	})
}

func TestTheWorseOfMachineAndGroupCounts(t *testing.T) {
	r := stalled(0, 0)
	r.Group = device.StallReading{Stalls: device.Stalls{Full: device.Stall{Avg10: 4000}}}
	var m SystemMeter
	require.Equal(t, Critical, m.Next(r, 0))
	r.Group.Err = device.Errorf(device.CodeUnsupported, "test", "gone")
	require.Equal(t, Low, m.Next(r, 0), "numbers of an unavailable reading are ignored")
}

func TestEventsHoldTheirLevel(t *testing.T) {
	at := func(e device.Events) device.SystemPressure {
		r := stalled(0, 0)
		r.Events = device.EventReading{Events: e}
		return r
	}
	var m SystemMeter
	counts := device.Events{High: 7, Max: 7, OOM: 7, OOMKill: 7, Low: 7}
	require.Equal(t, Low, m.Next(at(counts), 0), "events from before the first reading do not raise the level")
	counts.Low++
	require.Equal(t, Low, m.Next(at(counts), 1))
	counts.High++
	require.Equal(t, Medium, m.Next(at(counts), 2))
	counts.Max++
	require.Equal(t, High, m.Next(at(counts), 3))
	counts.OOMKill++
	require.Equal(t, Critical, m.Next(at(counts), 4))
	require.Equal(t, Critical, m.Next(at(counts), 3+EventHold))
	counts.High++
	require.Equal(t, Medium, m.Next(at(counts), 4+EventHold), "each level is held from its own last event")
	require.Equal(t, Medium, m.Next(at(counts), 3+2*EventHold))
	require.Equal(t, Low, m.Next(at(counts), 4+2*EventHold))
	counts.OOM++
	require.Equal(t, Critical, m.Next(at(counts), 5+2*EventHold))
	// A group that was created again counts from 0.
	require.Equal(t, Critical, m.Next(at(device.Events{}), 6+2*EventHold))
	require.Equal(t, Critical, m.Next(at(device.Events{OOM: 1}), 5*EventHold))
	require.Equal(t, Critical, m.Next(stalled(0, 0), 5*EventHold+time.Second), "a reading without counts ends nothing")
}
