package memcheck

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

func TestFlagsRoundTrip(t *testing.T) {
	for flags := Flags(1); flags <= All; flags++ {
		read, err := Parse(flags.String())
		require.NoError(t, err)
		require.Equal(t, flags, read)
	}
	for text, want := range map[string]Flags{
		"all": All, " poison , red_zones": Poison | RedZones, "poison,all": All, "poison,poison": Poison,
	} {
		read, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, read, text)
	}
	for text, word := range map[string]string{
		"": `""`, "poison,": `""`, "Poison": `"Poison"`, "all,zones": `"zones"`, "1": `"1"`, "red zones": `"red zones"`,
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, word+" is not one of red_zones, poison, quarantine, call_sites, all", text)
	}
	require.Equal(t, "poison,0x30", (Poison | 0x30).String())
}

// The quarantine has the newest blocks that fit its bound, in the order of their frees,
// for any bounds.
func TestQuarantineIsAQueueWithABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q quarantine
		var held []*record
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			bound := rapid.Uint64Range(0, 4096).Draw(t, "bound")
			r := &record{size: rapid.Uint64Range(1, 1024).Draw(t, "size")}
			q.push(r, bound)
			if r.size <= bound {
				held = append(held, r)
			} else {
				require.Same(t, r, q.pop(bound), "an item above the bound leaves first")
			}
			bytes := uint64(0)
			for _, r := range held {
				bytes += r.size
			}
			for bytes > bound {
				require.Same(t, held[0], q.pop(bound))
				bytes -= held[0].size
				held = held[1:]
			}
			require.Nil(t, q.pop(bound))
			require.Equal(t, bytes, q.bytes)
			require.LessOrEqual(t, len(q.items), 2*len(held)+34, "items that left the quarantine are not stored")
		}
	})
}

func TestHistoryRemembersTheLatest(t *testing.T) {
	var h history
	_, known := h.find(1)
	require.False(t, known)
	const added = 3*historyBlocks + 7
	for i := range uint64(added) {
		h.add(past{user: device.Addr(i % 2000), requested: i})
	}
	require.Len(t, h.blocks, historyBlocks)
	for user := range uint64(2000) {
		latest := (added-1-user)/2000*2000 + user
		p, known := h.find(device.Addr(user))
		require.Equal(t, latest >= added-historyBlocks, known, "block %d", user)
		if known {
			require.Equal(t, latest, p.requested)
		}
	}
}

func TestDepotKeepsEachStackOnce(t *testing.T) {
	var d depot
	require.Zero(t, d.number(stack{}))
	require.Empty(t, d.frames(0))
	one, two := stack{1, 2, 3}, stack{1, 2}
	first, second := d.number(one), d.number(two)
	require.NotEqual(t, first, second)
	require.Equal(t, first, d.number(stack{1, 2, 3}))
	require.Equal(t, []uintptr{1, 2, 3}, d.frames(first))
	require.Equal(t, []uintptr{1, 2}, d.frames(second))
	full := stack{}
	for i := range full {
		full[i] = uintptr(i + 1)
	}
	require.Len(t, d.frames(d.number(full)), FramesMax)
	for i := range uintptr(depotStacks) {
		d.number(stack{i + 1000})
	}
	require.Len(t, d.stacks, depotStacks)
	require.Zero(t, d.number(stack{1 << 40}), "no more than that")
	require.Equal(t, first, d.number(one), "a known site keeps its number")
}

// For any request, the caller's bytes are aligned, and a zone of the least length is on
// both sides within the size requested from the pool.
func TestZonesFitIntoThePaddedSize(t *testing.T) {
	c := &Checker{zones: true}
	rapid.Check(t, func(t *rapid.T) {
		align := uint64(1) << rapid.IntRange(0, 30).Draw(t, "align")
		size := rapid.Uint64Range(1, 1<<40).Draw(t, "size")
		base := rapid.Uint64Range(0, 1<<20).Draw(t, "base") * align
		padded, ok := c.Padded(size, align)
		require.True(t, ok)
		r := &record{base: device.Addr(base), size: padded, requested: size,
			user: device.Addr(base + c.front(align))}
		require.Zero(t, uint64(r.user)%align)
		before, behind := r.before(), r.behind()
		require.GreaterOrEqual(t, before.size, uint64(zoneBytes))
		require.GreaterOrEqual(t, behind.size, uint64(zoneBytes))
		require.GreaterOrEqual(t, before.start, r.base)
		require.Equal(t, r.user, before.start+device.Addr(before.size))
		require.Equal(t, r.user+device.Addr(size), behind.start)
		require.LessOrEqual(t, uint64(behind.start)+behind.size, base+padded)
	})
	for _, size := range []uint64{1<<64 - 1, 1<<64 - zoneBytes, 1<<64 - 2*zoneBytes} {
		_, ok := c.Padded(size, 1)
		require.False(t, ok, "%d", size)
	}
	plain := &Checker{}
	padded, ok := plain.Padded(1<<64-1, 256)
	require.True(t, ok)
	require.Equal(t, uint64(1<<64-1), padded)
}
