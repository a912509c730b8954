package vmm

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// Two models take pages from each other repeatedly. No model reads a byte of the other,
// in whichever way it got the page: parked, idle, orphaned, reclaimed.
func TestModelsNeverReadEachOther(t *testing.T) {
	for _, backing := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
		p := newPartyWith(t, devicetest.Config{TotalBytes: 2 * mib, Backed: true}, engine.Options{},
			ElasticConfig{LimitBytes: 8 * page, Backing: backing}, false)
		mark := map[string]byte{"a": 1, "b": 2}
		tenants := []string{"a", "b"}
		for round := range 12 {
			id := tenants[round%2]
			if _, ok := p.shared.ModelStats(id); !ok {
				p.model(t, id, 0, 0, 0)
			}
			m, err := p.shared.Model(id)
			require.NoError(t, err)
			got := get(t, m, uint64(4+round%5))
			seen := p.dev.Bytes(got.Addr, got.SizeBytes)
			require.Len(t, seen, int(got.SizeBytes))
			require.Equal(t, -1, bytes.IndexFunc(seen, func(r rune) bool { return r != 0 && r != rune(mark[id]) }),
				"round %d: %q reads what it did not write", round, id)
			require.NoError(t, p.dev.FillNow(got.Addr, mark[id], got.SizeBytes))
			switch round % 4 {
			case 0, 1:
				free(t, m, got)
			case 2:
				free(t, m, got)
				_, err := p.shared.physical.unpark(maxWanted, nil)
				require.NoError(t, err)
			case 3:
				require.NoError(t, p.shared.Unregister(id, true))
			}
			p.check(t)
		}
		p.quit(t)
	}
}

// A page keeps its contents only if both models are unscrubbed.
func TestAPageKeepsItsBytesOnlyWhereBothTenantsOptedOut(t *testing.T) {
	for _, c := range []struct{ first, second, kept bool }{
		{true, true, true}, {true, false, false}, {false, true, false}, {false, false, false},
	} {
		p := newPartyWith(t, devicetest.Config{TotalBytes: 2 * mib, Backed: true}, engine.Options{},
			ElasticConfig{LimitBytes: 4 * page}, false)
		a, err := p.shared.Register("a", ModelConfig{VirtualBytes: 4 * page, Unscrubbed: c.first})
		require.NoError(t, err)
		b, err := p.shared.Register("b", ModelConfig{VirtualBytes: 4 * page, Unscrubbed: c.second})
		require.NoError(t, err)
		got := get(t, a, 4)
		require.NoError(t, p.dev.FillNow(got.Addr, 7, got.SizeBytes))
		free(t, a, got)
		zeroed := p.dev.Calls(devicetest.Zero)
		got = get(t, b, 4)
		want := byte(0)
		if c.kept {
			want = 7
			require.Equal(t, zeroed, p.dev.Calls(devicetest.Zero))
		}
		require.Equal(t, bytes.Repeat([]byte{want}, int(4*page)), p.dev.Bytes(got.Addr, got.SizeBytes))
		p.quit(t)
	}
}

// Free pages are taken from the model of the lowest priority first.
func TestFreePagesAreTakenByPriority(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 12)
	high, low, asker := p.model(t, "high", 0, 0, 2), p.model(t, "low", 0, 0, 1), p.model(t, "asker", 0, 0, 0)
	cached := func() [2]uint64 {
		return [2]uint64{high.Stats().CachedBytes / page, low.Stats().CachedBytes / page}
	}
	first, other := get(t, high, 6), get(t, low, 6)
	free(t, high, first)
	free(t, low, other)
	require.Equal(t, [2]uint64{6, 6}, cached())
	held := get(t, asker, 4)
	require.Equal(t, [2]uint64{6, 2}, cached())
	free(t, asker, held)
	free(t, low, get(t, low, 6))
	require.NoError(t, p.shared.SetModelLimits("low", ModelLimits{Priority: 3}))
	get(t, asker, 4)
	require.Equal(t, [2]uint64{2, 6}, cached())
	p.quit(t)
}
