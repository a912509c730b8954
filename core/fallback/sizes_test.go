package fallback

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

func TestRoundUpPowerOf2(t *testing.T) {
	for n, want := range map[uint64]uint64{0: 1, 1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 1000: 1024, 1<<63 - 1: 1 << 63, 1 << 63: 1 << 63} {
		got, err := RoundUpPowerOf2(n)
		require.NoError(t, err)
		require.Equal(t, want, got, "%d", n)
		class, err := SizeClass(n)
		require.NoError(t, err)
		require.Equal(t, want, class)
	}
	for _, n := range []uint64{1<<63 + 1, math.MaxUint64} {
		got, err := RoundUpPowerOf2(n)
		require.ErrorIs(t, err, device.CodeOverflow)
		require.Zero(t, got)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(2, 1<<63).Draw(t, "n")
		got, err := RoundUpPowerOf2(n)
		if err != nil || got&(got-1) != 0 || got < n || got/2 >= n {
			t.Fatalf("%d: %d, %v", n, got, err)
		}
	})
}

func TestBytesOfNumbers(t *testing.T) {
	for _, f := range []struct {
		of    func(uint64) (uint64, error)
		width uint64
	}{{F32Bytes, 4}, {F16Bytes, 2}} {
		for _, n := range []uint64{0, 1, 7, math.MaxUint64 / f.width} {
			got, err := f.of(n)
			require.NoError(t, err)
			require.Equal(t, n*f.width, got)
		}
		for _, n := range []uint64{math.MaxUint64/f.width + 1, math.MaxUint64} {
			_, err := f.of(n)
			require.ErrorIs(t, err, device.CodeOverflow)
		}
	}
}
