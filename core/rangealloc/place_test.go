package rangealloc

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

const placeGranule = 64

func placers(t require.TestingT) map[string]Strategy {
	made := map[string]Strategy{}
	for _, name := range Names() {
		s, err := New(name, Config{
			SizeBytes: 64 * placeGranule, GranuleBytes: placeGranule,
			BlockBytes: map[string]uint64{nameFixed: placeGranule}[name],
		})
		require.NoError(t, err)
		if _, ok := s.(PlaceTaker); ok {
			made[name] = s
			continue
		}
		s.Close()
	}
	require.Contains(t, made, Default)
	require.Contains(t, made, nameTLSF)
	return made
}

// The reference model is a map of granules.
func TestTakePlaceAgainstAMap(t *testing.T) {
	for name := range placers(t) {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			s := placers(t)[name]
			defer s.Close()
			var taken [64]bool
			starts := map[uint64]uint64{}
			for range rapid.IntRange(1, 60).Draw(t, "steps") {
				first := rapid.Uint64Range(0, 63).Draw(t, "first")
				count := rapid.Uint64Range(1, 64-first).Draw(t, "count")
				if _, live := starts[first]; live && rapid.Bool().Draw(t, "free") {
					_, err := s.Free(first * placeGranule)
					require.NoError(t, err)
					for at := first; at < first+starts[first]; at++ {
						taken[at] = false
					}
					delete(starts, first)
					continue
				}
				behind := FromStart
				for at := range starts {
					if at <= first && rapid.Bool().Draw(t, "hint") {
						behind = at * placeGranule
					}
				}
				before := s.Stats()
				got, err := s.(PlaceTaker).TakePlace(Place{Offset: first * placeGranule, Size: count * placeGranule, Behind: behind})
				free := true
				for at := first; at < first+count; at++ {
					free = free && !taken[at]
				}
				if !free {
					require.Equal(t, ErrNoRoom, err)
					require.Equal(t, before, s.Stats())
				} else {
					require.NoError(t, err)
					require.Equal(t, first*placeGranule, got.Offset)
					require.Equal(t, count*placeGranule, got.Size)
					found, ok := s.Lookup(got.Offset)
					require.True(t, ok)
					require.Equal(t, found, got)
					for at := first; at < first+count; at++ {
						taken[at] = true
					}
					starts[first] = count
				}
				require.NoError(t, s.Check())
				walksFrom(t, s.(PlaceTaker), rapid.Uint64Range(0, 64*placeGranule+1).Draw(t, "from"))
			}
		}))
	}
}

// walksFrom compares a walk from an offset with the rest of a whole walk.
func walksFrom(t require.TestingT, s PlaceTaker, from uint64) {
	var whole, rest, got []Block
	s.(Strategy).Walk(func(b Block) bool {
		whole = append(whole, b)
		if len(rest) > 0 || b.Live && b.Offset == from {
			rest = append(rest, b)
		}
		return true
	})
	note := func(b Block) bool {
		got = append(got, b)
		return true
	}
	require.Equal(t, len(rest) > 0, s.WalkFrom(from, note))
	require.Equal(t, rest, got)
	got = nil
	require.True(t, s.WalkFrom(FromStart, note))
	require.Equal(t, whole, got)
	got = nil
	require.True(t, s.WalkFrom(FromStart, func(b Block) bool { note(b); return false }))
	require.Equal(t, whole[:1], got)
}

func TestTakePlaceRejectsInvalidPlaces(t *testing.T) {
	for name, s := range placers(t) {
		t.Run(name, func(t *testing.T) {
			defer s.Close()
			live, err := s.Alloc(Request{Size: placeGranule, Align: placeGranule})
			require.NoError(t, err)
			before := s.Stats()
			for _, c := range []struct {
				place Place
				code  device.Code
			}{
				{Place{Offset: 128, Behind: FromStart}, device.CodeInvalidSize},
				{Place{Offset: 128, Size: 63, Behind: FromStart}, device.CodeInvalidSize},
				{Place{Offset: 129, Size: 64, Behind: FromStart}, device.CodeInvalidOffset},
				{Place{Offset: 64 * 64, Size: 64, Behind: FromStart}, device.CodeInvalidOffset},
				{Place{Offset: 128, Size: 64 * 64, Behind: FromStart}, device.CodeInvalidOffset},
				{Place{Offset: 128, Size: 1 << 63, Behind: FromStart}, device.CodeInvalidOffset},
				{Place{Offset: 128, Size: 64, Behind: live.Offset + 64}, device.CodeInvalidAddress},
				{Place{Offset: 128, Size: 64, Behind: live.Offset + 1}, device.CodeInvalidAddress},
				{Place{Offset: 128, Size: 64, Behind: 1 << 40}, device.CodeInvalidAddress},
				{Place{Offset: live.Offset, Size: 64, Behind: live.Offset}, device.CodeOutOfMemory},
			} {
				_, err := s.(PlaceTaker).TakePlace(c.place)
				require.Equal(t, c.code, device.CodeOf(err), "%+v: %v", c.place, err)
				require.Equal(t, before, s.Stats())
			}
		})
	}
}
