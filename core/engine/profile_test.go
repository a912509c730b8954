package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pressure"
	"ferrum_mem/core/track"
)

// The callbacks of both profiles receive exactly the levels that a reference model computes
// from every change of the used bytes.
func TestBothProfilesAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dev, e := open(100 * mib)
		p := newCounterPool(t, e, "p")
		s, err := e.Reserve(Want{MinBytes: 100 * mib, PreferredBytes: 100 * mib})
		require.NoError(t, err)
		p.change(func(b *track.Counters) { b.AddSegment(track.Segment{UsableBytes: 100 * mib}) })
		type listener struct {
			registration *Registration
			heard        *[]pressure.Level
		}
		var model struct {
			levels [pressure.ProfileCount]pressure.Level
			wanted [pressure.ProfileCount]map[*[]pressure.Level][]pressure.Level
		}
		var listeners [pressure.ProfileCount][]listener
		percent := uint64(0)
		for profile := range pressure.Profile(pressure.ProfileCount) {
			model.wanted[profile] = map[*[]pressure.Level][]pressure.Level{}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			profile := rapid.SampledFrom([]pressure.Profile{pressure.Standard, pressure.Early}).Draw(t, "profile")
			bounds := profile.Bounds(100 * mib)
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				heard := &[]pressure.Level{}
				r, level, err := e.OnPressureBy(profile, func(l pressure.Level) { *heard = append(*heard, l) })
				require.NoError(t, err)
				if len(listeners[profile]) == 0 {
					model.levels[profile] = bounds.LevelOf(percent * mib)
				}
				require.Equal(t, model.levels[profile], level)
				listeners[profile] = append(listeners[profile], listener{r, heard})
				model.wanted[profile][heard] = []pressure.Level{}
			case 1:
				if n := len(listeners[profile]); n > 0 {
					e.dispatcher.Flush()
					listeners[profile][n-1].registration.Remove(false)
					listeners[profile] = listeners[profile][:n-1]
				}
			default:
				percent = rapid.Uint64Range(50, 100).Draw(t, "percent")
				p.use(e, percent)
				for profile := range pressure.Profile(pressure.ProfileCount) {
					next := profile.Bounds(100*mib).Next(model.levels[profile], percent*mib)
					if len(listeners[profile]) == 0 || next == model.levels[profile] {
						continue
					}
					model.levels[profile] = next
					for _, l := range listeners[profile] {
						model.wanted[profile][l.heard] = append(model.wanted[profile][l.heard], next)
					}
				}
			}
			level, kept := e.PressureLevel(profile)
			require.Equal(t, len(listeners[profile]) > 0, kept)
			if kept {
				require.Equal(t, model.levels[profile], level)
			}
		}
		e.dispatcher.Flush()
		for profile, wanted := range model.wanted {
			for heard, want := range wanted {
				require.Equal(t, want, *heard, "%v", pressure.Profile(profile))
			}
			for _, l := range listeners[profile] {
				l.registration.Remove(false)
			}
		}
		require.False(t, e.totals.Watched())
		e.Unregister(p)
		require.NoError(t, e.Release(s))
		require.NoError(t, e.Close())
		require.Zero(t, dev.HeldBytes())
	})
}

func TestUnknownProfileIsRefused(t *testing.T) {
	_, e := open(mib)
	_, _, err := e.OnPressureBy(2, func(pressure.Level) {})
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	require.ErrorContains(t, err, "profile 2")
	_, kept := e.PressureLevel(-1)
	require.False(t, kept)
	require.NoError(t, e.Close())
}
