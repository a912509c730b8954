package pressure

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// oracle decides by exact fractions.
func oracle(p Profile, total, used uint64) Level {
	if total == 0 {
		return Low
	}
	share := new(big.Rat).SetFrac(new(big.Int).SetUint64(used), new(big.Int).SetUint64(total))
	for level := Critical; level > Low; level-- {
		if share.Cmp(big.NewRat(int64(lowerPercent[p][level]), 100)) >= 0 {
			return level
		}
	}
	return Low
}

func anyProfile() *rapid.Generator[Profile] { return rapid.SampledFrom([]Profile{Standard, Early}) }

func anyTotal() *rapid.Generator[uint64] {
	return rapid.OneOf(rapid.Uint64Range(0, 300), rapid.Uint64(), rapid.Just(uint64(math.MaxUint64)),
		rapid.Just(uint64(80<<30)))
}

func TestLevelsAgainstFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := anyTotal().Draw(t, "total")
		used := rapid.Uint64Range(0, total).Draw(t, "used")
		profile := anyProfile().Draw(t, "profile")
		require.Equal(t, oracle(profile, total, used), profile.LevelOf(total, total-used))
		require.Equal(t, Standard.LevelOf(total, total-used), LevelOf(total, total-used))
	})
}

func TestBothEdgesOfEveryBound(t *testing.T) {
	for profile := range Profile(ProfileCount) {
		for total := uint64(1); total <= 250; total++ {
			bounds := profile.Bounds(total)
			for used := range total + 1 {
				want := oracle(profile, total, used)
				require.Equal(t, want, profile.LevelOf(total, total-used), "%v: %d of %d", profile, used, total)
				require.Equal(t, want, bounds.LevelOf(used), "%v: %d of %d, from bounds", profile, used, total)
			}
		}
	}
	edges := map[Profile][]uint64{Standard: {70, 85, 95}, Early: {60, 80, 95}}
	for profile, bounds := range edges {
		for i, used := range bounds {
			require.Equal(t, Level(i+1), profile.LevelOf(100, 100-used), "%v at %d %%", profile, used)
			require.Equal(t, Level(i), profile.LevelOf(1000, 1000-used*10+1), "%v below %d %%", profile, used)
		}
	}
	// One byte less than 85 % of 80 GiB: single-precision arithmetic returns High.
	const total = 80 << 30
	require.Equal(t, Medium, LevelOf(total, total-73014444031))
	require.Equal(t, High, LevelOf(total, total-73014444032))
}

func TestUnknownTotalAndTooMuchFree(t *testing.T) {
	require.Equal(t, Low, LevelOf(0, 0))
	require.Equal(t, Low, LevelOf(0, 5))
	require.Equal(t, Low, LevelOf(10, 11))
	require.Equal(t, Critical, LevelOf(10, 0))
	require.Equal(t, Low, NewBounds(0).Next(Critical, 7))
}

// nextByRule is the rule of the hysteresis: up at a bound, down at 1 % below it.
func nextByRule(p Profile, total uint64, present Level, used uint64) Level {
	scaled := new(big.Int).Mul(new(big.Int).SetUint64(used), big.NewInt(100))
	for present > Low {
		below := new(big.Int).Mul(new(big.Int).SetUint64(total), new(big.Int).SetUint64(lowerPercent[p][present]-1))
		if scaled.Cmp(below) > 0 {
			break
		}
		present--
	}
	return max(present, oracle(p, total, used))
}

func TestHysteresis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := anyTotal().Filter(func(n uint64) bool { return n > 0 }).Draw(t, "total")
		profile := anyProfile().Draw(t, "profile")
		bounds := profile.Bounds(total)
		level := Low
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			near := percentUp(total, rapid.SampledFrom([]uint64{0, 59, 60, 69, 70, 79, 80, 84, 85, 94, 95, 99}).Draw(t, "percent"))
			used := min(near+rapid.Uint64Range(0, 3).Draw(t, "above"), total)
			used -= min(rapid.Uint64Range(0, 3).Draw(t, "below"), used)
			low, high := bounds.Hold(level)
			next := bounds.Next(level, used)
			require.Equal(t, nextByRule(profile, total, level, used), next, "%d of %d from %v", used, total, level)
			require.Equal(t, used >= low && used < high, next == level, "Hold agrees with Next")
			require.GreaterOrEqual(t, next, bounds.LevelOf(used), "no crossing upwards is missed")
			level = next
		}
	})
}

// A use that changes by less than 1 % of the device changes the level at most once.
func TestSmallChangesDoNotOscillateTheLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Uint64Range(1000, 1<<50).Draw(t, "total")
		bounds := anyProfile().Draw(t, "profile").Bounds(total)
		width := total/100 - 1
		start := rapid.Uint64Range(0, total-width).Draw(t, "start")
		level := bounds.Next(Level(rapid.IntRange(0, 3).Draw(t, "level")), start)
		changes := 0
		for range 40 {
			next := bounds.Next(level, start+rapid.Uint64Range(0, width).Draw(t, "move"))
			if next != level {
				changes++
			}
			level = next
		}
		require.LessOrEqual(t, changes, 1)
	})
}

func TestText(t *testing.T) {
	for level := Low; level <= Critical; level++ {
		data, err := json.Marshal(level)
		require.NoError(t, err)
		var back Level
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, level, back)
	}
	var level Level
	require.ErrorContains(t, level.UnmarshalText([]byte("full")), `"full"`)
	require.Equal(t, "unknown", Level(9).String())
}
