package pressure

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

func TestUtilizationOnBothSidesOfEveryBound(t *testing.T) {
	bounds := map[Profile][]float64{Standard: {0.70, 0.85, 0.95}, Early: {0.60, 0.80, 0.95}}
	for profile, ratios := range bounds {
		for i, ratio := range ratios {
			at, err := profile.FromUtilization(ratio)
			require.NoError(t, err)
			require.Equal(t, Level(i+1), at, "%v at %v", profile, ratio)
			below, err := profile.FromUtilization(math.Nextafter(ratio, 0))
			require.NoError(t, err)
			require.Equal(t, Level(i), below, "%v below %v", profile, ratio)
		}
		for _, full := range []float64{1, 2, math.Inf(1)} {
			level, err := profile.FromUtilization(full)
			require.NoError(t, err)
			require.Equal(t, Critical, level)
		}
	}
}

func TestUtilizationRejectsInvalidRatios(t *testing.T) {
	for _, ratio := range []float64{math.NaN(), -0.1, math.Inf(-1)} {
		_, err := Early.FromUtilization(ratio)
		require.ErrorIs(t, err, device.CodeInvalidArgument)
	}
	_, err := Profile(2).FromUtilization(0.5)
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	require.ErrorContains(t, err, "profile 2")
}

// A ratio of whole percents agrees with the exact decision.
func TestUtilizationAgreesWithBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		profile := anyProfile().Draw(t, "profile")
		used := rapid.Uint64Range(0, 100).Draw(t, "used")
		level, err := profile.FromUtilization(float64(used) / 100)
		require.NoError(t, err)
		require.Equal(t, profile.LevelOf(100, 100-used), level)
	})
}

func TestShouldFreeAndShouldDeny(t *testing.T) {
	require.Equal(t, []bool{false, false, true, true}, []bool{
		Low.ShouldFree(), Medium.ShouldFree(), High.ShouldFree(), Critical.ShouldFree(),
	})
	require.Equal(t, []bool{false, false, false, true}, []bool{
		Low.ShouldDeny(), Medium.ShouldDeny(), High.ShouldDeny(), Critical.ShouldDeny(),
	})
}

func TestProfileText(t *testing.T) {
	for profile := range Profile(ProfileCount) {
		data, err := json.Marshal(profile)
		require.NoError(t, err)
		var back Profile
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, profile, back)
	}
	var profile Profile
	require.ErrorContains(t, profile.UnmarshalText([]byte("other")), `"other"`)
	_, err := Profile(-1).MarshalText()
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	require.Equal(t, "unknown", Profile(7).String())
	require.EqualValues(t, 80, Early.LowerPercent(High))
}

// Levels computed directly and with Bounds are the same.
func TestBoundsAgreeWithLevelOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		profile := anyProfile().Draw(t, "profile")
		total := anyTotal().Draw(t, "total")
		bounds := profile.Bounds(total)
		for level := Medium; level <= Critical; level++ {
			for _, used := range []uint64{bounds.enter[level], bounds.enter[level] - min(bounds.enter[level], 1)} {
				used = min(used, total)
				require.Equal(t, bounds.LevelOf(used), profile.LevelOf(total, total-used))
			}
		}
	})
}
