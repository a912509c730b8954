package sleep

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/pageset"
)

func run(start, pages uint64) pageset.Run { return pageset.Run{Start: start, Pages: pages} }

// A plan maps what is not mapped, and copies what is kept. Of discarded contents only
// pages that are already mapped need zeroing.
func TestAPlanMapsAndCopiesWhatIsMissing(t *testing.T) {
	bytes, nothing := &Chunk{Run: run(0, 6), block: &Block{}}, &Chunk{Run: run(10, 4)}
	var p Plan
	jammed := func(page uint64) bool { return page == 2 || page == 3 || page == 11 }
	p.Add(Job{Chunk: bytes, Runs: []pageset.Run{run(0, 6)}}, jammed)
	p.Add(Job{Chunk: nothing, Runs: []pageset.Run{run(10, 1), run(11, 3)}}, jammed)
	require.Equal(t, []pageset.Run{run(0, 2), run(4, 2)}, p.Jobs[0].Fresh)
	require.Equal(t, []pageset.Run{run(10, 1), run(12, 2)}, p.Jobs[1].Fresh)
	require.EqualValues(t, 4, p.Kept)
	require.EqualValues(t, 3, p.Zeros)
	require.Equal(t, []pageset.Run{run(2, 2), run(11, 1)}, p.Jammed)
	require.EqualValues(t, 7, p.Pages())
	copies := p.Copies()
	require.Len(t, copies, 2)
	require.Equal(t, []pageset.Run{run(0, 6)}, copies[0].Runs)
	require.Equal(t, []pageset.Run{run(11, 1)}, copies[1].Runs)
	require.Equal(t, []FreshRun{{Run: run(0, 2)}, {Run: run(4, 2)}, {Run: run(10, 1)}, {Run: run(12, 2)}},
		p.Fresh(func(uint64) bool { return true }))
	require.Equal(t, []FreshRun{{Run: run(0, 1)}}, p.Fresh(func(page uint64) bool { return page == 0 || page == 2 }))

	p.KeptPages, p.ZeroPages = []device.Page{1, 2, 3, 4}, []device.Page{5, 6, 7}
	require.Equal(t, []device.Page{1, 2, 3, 4, 5, 6, 7}, p.Unmapped())
	require.Equal(t, []device.Page{5}, p.Next(p.Jobs[1], run(10, 1)))
	p.Map(p.Jobs[1], run(10, 1))
	p.Map(p.Jobs[0], run(0, 2))
	require.Equal(t, []device.Page{3, 4, 6, 7}, p.Unmapped())
	p.Map(p.Jobs[0], run(4, 2))
	require.Equal(t, []device.Page{6, 7}, p.Next(p.Jobs[1], run(12, 2)))
	p.Map(p.Jobs[1], run(12, 2))
	require.Empty(t, p.Unmapped())
	require.Equal(t, []Mapping{
		{Run: run(10, 1), Pages: []device.Page{5}}, {Run: run(0, 2), Pages: []device.Page{1, 2}},
		{Run: run(4, 2), Pages: []device.Page{3, 4}}, {Run: run(12, 2), Pages: []device.Page{6, 7}},
	}, p.Mapped)
}

// Without discarded pages that are mapped there is nothing to copy.
func TestDiscardedPagesNeedNoCopy(t *testing.T) {
	var p Plan
	p.Add(Job{Chunk: &Chunk{Run: run(3, 4)}, Runs: []pageset.Run{run(3, 4)}}, nil)
	require.Empty(t, p.Copies())
	require.Equal(t, []pageset.Run{run(3, 4)}, p.Jobs[0].Fresh)
	require.EqualValues(t, 4, p.Zeros)
}

func TestATagSleepsUntilItOrAllWake(t *testing.T) {
	var tags Tags
	require.False(t, tags.Any() || tags.All() || tags.Sleeps("kv"))
	tags.Begin("kv")
	before := tags.Clone()
	require.True(t, tags.Any() && tags.Sleeps("kv"))
	require.False(t, tags.All() || tags.Sleeps("weights"))
	tags.Begin("")
	require.True(t, tags.All() && tags.Sleeps("weights"))
	tags.End("kv", false)
	require.True(t, tags.Any() && tags.Sleeps("weights"))
	require.False(t, tags.All() || tags.Sleeps("kv"))
	tags.Begin("kv")
	require.True(t, tags.All())
	tags.End("weights", true)
	require.False(t, tags.Any(), "no page sleeps any more")
	require.True(t, before.Sleeps("kv"), "a copy stays")
	tags.Begin("a")
	tags.Begin("b")
	tags.End("a", false)
	require.True(t, tags.Sleeps("b"))
	require.False(t, tags.Sleeps("a"))
	tags.End("", false)
	require.False(t, tags.Any())
}

// Contents in place need pages and no copy, and each chunk has runs of its own.
func TestContentsInPlaceNeedNoCopy(t *testing.T) {
	one, two, copied := &Chunk{Run: run(0, 2)}, &Chunk{Run: run(2, 3)}, &Chunk{Run: run(5, 1), block: &Block{}}
	one.KeepInPlace()
	two.KeepInPlace()
	require.NotZero(t, one.InPlace())
	require.NotEqual(t, one.InPlace(), two.InPlace())
	require.False(t, one.Discarded())
	var p Plan
	for _, c := range []*Chunk{one, two, copied} {
		p.Add(Job{Chunk: c, Runs: []pageset.Run{c.Run}}, nil)
	}
	require.EqualValues(t, 6, p.Kept)
	require.Zero(t, p.Zeros)
	require.Equal(t, []Job{p.Jobs[2]}, p.Copies())
	require.Equal(t, []FreshRun{
		{Run: run(0, 2), Mark: one.InPlace()}, {Run: run(2, 3), Mark: two.InPlace()}, {Run: run(5, 1)},
	}, p.Fresh(func(uint64) bool { return true }))
}
