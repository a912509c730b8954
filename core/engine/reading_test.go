package engine

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/track"
)

// While other programs do not use the device, the counters and an old reading give the same
// MemoryInfo as a new reading.
func TestRecentMemoryInfoIsThatOfANewReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dev, e := open(100 * mib)
		dev.SetOthersBytes(rapid.Uint64Range(0, 50).Draw(t, "others") * mib)
		p := newCounterPool(t, e, "p")
		_, err := e.MemoryInfo()
		require.NoError(t, err)
		var held []Segment
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				s, err := e.Reserve(Want{MinBytes: 4096, PreferredBytes: rapid.Uint64Range(1, 20).Draw(t, "size") * mib})
				if err == nil {
					held = append(held, s)
					p.change(func(b *track.Counters) { b.AddSegment(track.Segment{UsableBytes: s.SizeBytes - 1, UnusableBytes: 1}) })
				}
			case 1:
				if len(held) > 0 {
					s := held[len(held)-1]
					held = held[:len(held)-1]
					require.NoError(t, e.Release(s))
					p.change(func(b *track.Counters) {
						b.RemoveSegment(track.Segment{UsableBytes: s.SizeBytes - 1, UnusableBytes: 1})
					})
				}
			case 2:
				require.NoError(t, e.SetLimit(rapid.Uint64Range(0, 120).Draw(t, "limit")*mib))
			case 3:
				_, err := e.MemoryInfo()
				require.NoError(t, err)
			}
			calls := dev.Calls(devicetest.Memory)
			recent, err := e.RecentMemoryInfo(math.MaxInt64)
			require.NoError(t, err)
			require.Equal(t, calls, dev.Calls(devicetest.Memory), "the device was not asked")
			require.Positive(t, recent.ReadingAge)
			fresh, err := e.MemoryInfo()
			require.NoError(t, err)
			require.Zero(t, fresh.ReadingAge)
			recent.ReadingAge = 0
			require.Equal(t, fresh, recent)
		}
	})
}

func TestRecentMemoryInfoAsksWhenItMust(t *testing.T) {
	dev, e := open(100 * mib)
	info, err := e.RecentMemoryInfo(time.Hour)
	require.NoError(t, err)
	require.Zero(t, info.ReadingAge, "nothing was read before")
	require.Equal(t, 1, dev.Calls(devicetest.Memory))
	dev.SetOthersBytes(30 * mib)
	info, err = e.RecentMemoryInfo(time.Hour)
	require.NoError(t, err)
	require.Equal(t, 100*mib, info.FreeBytes, "memory of other processes appears with the next reading")
	for _, age := range []time.Duration{0, -1} {
		info, err = e.RecentMemoryInfo(age)
		require.NoError(t, err)
		require.Equal(t, 70*mib, info.FreeBytes)
		require.Zero(t, info.ReadingAge)
	}
	dev.FailNth(devicetest.Memory, 1, nil)
	_, err = e.RecentMemoryInfo(0)
	require.ErrorIs(t, err, device.CodeDevice)
	info, err = e.RecentMemoryInfo(time.Hour)
	require.NoError(t, err, "a reading that failed leaves the former one")
	require.Equal(t, 70*mib, info.FreeBytes)
	require.NoError(t, e.Close())
	_, err = e.RecentMemoryInfo(time.Hour)
	require.ErrorIs(t, err, device.CodeInvalidState)
}

func BenchmarkRecentMemoryInfo(b *testing.B) {
	_, e := open(100 * mib)
	newCounterPool(b, e, "p")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.RecentMemoryInfo(time.Hour); err != nil {
			b.Fatal(err)
		}
	}
}
