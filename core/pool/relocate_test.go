package pool

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/rangealloc"
)

// mover moves blocks of a pool as a manager does, without copying bytes.
type mover struct {
	p    *Pool
	live map[device.Addr]Request
}

func (m *mover) alloc(t require.TestingT, r Request) device.Addr {
	b, err := m.p.Alloc(r)
	require.NoError(t, err)
	m.live[b.Addr] = r
	return b.Addr
}

func (m *mover) free(t require.TestingT, addr device.Addr) {
	require.NoError(t, m.p.Free(addr, nil))
	delete(m.live, addr)
}

// addresses returns the addresses of the live blocks in order, so that random operations
// can be repeated.
func (m *mover) addresses() []device.Addr { return slices.Sorted(maps.Keys(m.live)) }

// all returns every live block, with its alignment.
func (m *mover) all() []Movable {
	var movable []Movable
	for addr, r := range m.live {
		movable = append(movable, Movable{addr, r.AlignmentBytes})
	}
	return movable
}

func without(movable []Movable, addr device.Addr) []Movable {
	return slices.DeleteFunc(movable, func(m Movable) bool { return m.Addr == addr })
}

func never() bool { return false }

// run moves what may move until nothing can be gained.
func (m *mover) run(t require.TestingT, movable []Movable) (moved int) {
	was := map[device.Addr]bool{}
	for _, b := range movable {
		was[b.Addr] = true
	}
	r, err := m.p.Relocate(movable)
	require.NoError(t, err)
	reserved := m.p.Statistics().Reserved
	for {
		next, err := r.Next(never)
		require.NoError(t, err)
		require.NoError(t, m.p.audit())
		if len(next.Claims) == 0 {
			require.Equal(t, reserved, m.p.Statistics().Reserved, "moving never grows the pool")
			return moved
		}
		for _, c := range next.Claims {
			request, ok := m.live[c.From]
			require.True(t, ok, "only live blocks move")
			require.True(t, was[c.From], "only movable blocks move, each at most once")
			require.Equal(t, movable[c.Index].Addr, c.From)
			delete(was, c.From)
			require.Equal(t, request.SizeBytes, c.SizeBytes)
			require.Zero(t, uint64(c.To)%max(request.AlignmentBytes, m.p.heap.config.AlignmentBytes))
			before, ok := m.p.Lookup(c.From)
			require.True(t, ok)
			require.True(t, m.p.Settle(c))
			after, ok := m.p.Lookup(c.To)
			require.True(t, ok)
			before.Addr = c.To
			require.Equal(t, before, after, "tag, sizes and time stay")
			delete(m.live, c.From)
			m.live[c.To] = request
			moved++
		}
		require.NoError(t, m.p.audit())
	}
}

func newMover(t require.TestingT, change func(*Config)) (*bench, *mover) {
	b := newBench(devicetest.Config{}, engine.Options{})
	return b, &mover{p: b.pool(t, func(c *Config) {
		c.InitialSizeBytes, c.GrowthIncrementBytes = 64*kib, 64*kib
		c.Tracking = true
		if change != nil {
			change(c)
		}
	}), live: map[device.Addr]Request{}}
}

func TestHalfEmptyPagesArePackedTogether(t *testing.T) {
	b, m := newMover(t, nil)
	var addrs []device.Addr
	for range 8 * 16 {
		addrs = append(addrs, m.alloc(t, Request{SizeBytes: 4 * kib, Tag: "kv"}))
	}
	require.Equal(t, 512*kib, m.p.Statistics().Reserved.Current)
	for i, addr := range addrs {
		if i%4 != 0 {
			m.free(t, addr)
		}
	}
	before := m.p.Statistics()
	moved := m.run(t, m.all())
	require.Equal(t, 24, moved, "two of eight pages hold all remaining blocks")
	after := m.p.Statistics()
	require.Equal(t, before.Requested.Current, after.Requested.Current)
	require.Equal(t, before.LiveBlocks.Current, after.LiveBlocks.Current)
	require.Equal(t, before.Active.Current, after.Active.Current)
	require.Equal(t, before.Allocations, after.Allocations)
	require.Equal(t, before.Frees, after.Frees)
	released, err := m.p.Trim(0)
	require.NoError(t, err)
	require.Equal(t, 384*kib, released)
	require.Zero(t, m.run(t, m.all()), "a further run moves no block")
	for addr := range m.live {
		m.free(t, addr)
	}
	require.NoError(t, m.p.Close(false))
	require.Zero(t, b.dev.HeldBytes())
}

// Blocks are moved to few pages, and not to single holes in many pages, which could not
// be emptied then.
func TestBlocksAreMovedToFewPages(t *testing.T) {
	_, m := newMover(t, nil)
	var addrs []device.Addr
	for range 64 * 16 {
		addrs = append(addrs, m.alloc(t, Request{SizeBytes: 4 * kib}))
	}
	for i, addr := range addrs {
		if i%16 != 3 && i%16 != 8 && i%16 != 9 {
			m.free(t, addr)
		}
	}
	m.run(t, m.all())
	_, err := m.p.Trim(0)
	require.NoError(t, err)
	require.Equal(t, 12*64*kib, m.p.HeldBytes(), "the pool holds only the pages that the blocks need")
}

func TestFixedBlockKeepsItsPage(t *testing.T) {
	_, m := newMover(t, nil)
	var addrs []device.Addr
	for range 4 * 16 {
		addrs = append(addrs, m.alloc(t, Request{SizeBytes: 4 * kib}))
	}
	for i, addr := range addrs {
		if i%16 >= 2 {
			m.free(t, addr)
		}
	}
	movable := m.all()
	for _, first := range []int{0, 16} {
		movable = without(movable, addrs[first])
	}
	require.Equal(t, 4, m.run(t, movable), "the blocks of two pages move into the other pages")
	for _, at := range []int{0, 1, 16, 17} {
		require.Contains(t, m.live, addrs[at], "what lies beside a block that stays has no reason to move")
	}
	released, err := m.p.Trim(0)
	require.NoError(t, err)
	require.Equal(t, 128*kib, released)
}

func TestAbandonedClaimsLeaveNothing(t *testing.T) {
	b, m := newMover(t, nil)
	var addrs []device.Addr
	for range 4 * 16 {
		addrs = append(addrs, m.alloc(t, Request{SizeBytes: 4 * kib}))
	}
	for i, addr := range addrs {
		if i%2 == 0 {
			m.free(t, addr)
		}
	}
	before := m.p.Statistics()
	r, err := m.p.Relocate(m.all())
	require.NoError(t, err)
	var chosen []Evacuation
	for range 2 {
		next, err := r.Next(never)
		require.NoError(t, err)
		require.NotEmpty(t, next.Claims)
		chosen = append(chosen, next)
	}
	claimed := m.p.Statistics()
	require.NoError(t, claimed.Check())
	require.Equal(t, before.LiveBlocks.Current, claimed.LiveBlocks.Current, "a claim is no block")
	require.Greater(t, claimed.Active.Current, before.Active.Current)
	held := b.dev.Default()
	held.Hold()
	require.NoError(t, held.HostFunction(func() {}))
	for i, e := range chosen {
		for _, c := range e.Claims {
			_, live := m.p.Lookup(c.To)
			require.False(t, live)
			require.Equal(t, device.CodeDoubleFree, device.CodeOf(m.p.Free(c.To, nil)))
			if i%2 == 0 {
				m.p.Abandon(c)
				continue
			}
			event, err := held.RecordEvent()
			require.NoError(t, err)
			m.p.Abandon(c, event)
		}
	}
	require.Greater(t, m.p.Statistics().Active.Current, before.Active.Current, "behind an event a place is in flight")
	held.Release()
	m.p.CompleteFrees()
	after := m.p.Statistics()
	require.Equal(t, before.Active.Current, after.Active.Current)
	require.Equal(t, before.Requested, after.Requested)
	require.NoError(t, m.p.audit())
}

func TestSettleRejectsAFreedBlock(t *testing.T) {
	_, m := newMover(t, nil)
	var addrs []device.Addr
	for range 2 * 16 {
		addrs = append(addrs, m.alloc(t, Request{SizeBytes: 4 * kib}))
	}
	for i, addr := range addrs {
		if i%16 != 0 {
			m.free(t, addr)
		}
	}
	r, err := m.p.Relocate(m.all())
	require.NoError(t, err)
	next, err := r.Next(never)
	require.NoError(t, err)
	require.Len(t, next.Claims, 1)
	c := next.Claims[0]
	m.free(t, c.From)
	require.False(t, m.p.Settle(c))
	m.p.Abandon(c)
	require.NoError(t, m.p.audit())
	require.EqualValues(t, 1, m.p.Statistics().LiveBlocks.Current)
}

func TestRelocateIsRejectedInDebugModeAndAfterClose(t *testing.T) {
	_, m := newMover(t, func(c *Config) { c.Debug = DebugRedZones })
	_, err := m.p.Relocate(nil)
	require.Equal(t, device.CodeUnsupported, device.CodeOf(err))
	require.ErrorContains(t, err, `"p"`)
	_, m = newMover(t, nil)
	r, err := m.p.Relocate(nil)
	require.NoError(t, err)
	require.NoError(t, m.p.Close(false))
	_, err = r.Next(never)
	require.Equal(t, device.CodeInvalidState, device.CodeOf(err))
	_, err = m.p.Relocate(nil)
	require.Equal(t, device.CodeInvalidState, device.CodeOf(err))
	m.p.Abandon(Claim{})
}

// Two pages with holes that are too short for the blocks of the other: enough is free in
// total, but no block has a place.
func TestNoRoomCountsBlocksThatFitNowhere(t *testing.T) {
	_, m := newMover(t, nil)
	var small, large []device.Addr
	for range 16 {
		small = append(small, m.alloc(t, Request{SizeBytes: 4 * kib}))
	}
	for range 8 {
		large = append(large, m.alloc(t, Request{SizeBytes: 8 * kib}))
	}
	for i := range small {
		if i%2 == 0 {
			m.free(t, small[i])
		}
	}
	for i := range large {
		if i%2 == 0 {
			m.free(t, large[i])
		}
	}
	r, err := m.p.Relocate([]Movable{{large[1], 0}, {large[3], 0}, {large[5], 0}, {large[7], 0}})
	require.NoError(t, err)
	next, err := r.Next(never)
	require.NoError(t, err)
	require.Empty(t, next.Claims)
	require.EqualValues(t, 4, r.NoRoom())
	m.free(t, large[1])
	m.alloc(t, Request{SizeBytes: 4 * kib})
	require.NoError(t, m.p.audit())
}

// packed returns the smallest number of regions that can hold the live bytes.
func packed(m *mover, regionBytes uint64) uint64 {
	sum := uint64(0)
	for _, r := range m.live {
		sum += (r.SizeBytes + 255) &^ 255
	}
	return (sum + regionBytes - 1) / regionBytes
}

// Random programs. If the caller chooses places, and there is one region without blocks
// at the start, no two candidates are left that together fit into one region. A block of
// at most a 16th of a region adds at most that to the cost of each of two neighbours, so
// on average a region is filled to at least 3/8.
func TestRelocationFillsRegions(t *testing.T) {
	devicetest.OneThread(t)
	for _, strategy := range []string{rangealloc.Default, "tlsf", "buddy", "size_class", "arena"} {
		t.Run(strategy, rapid.MakeCheck(func(t *rapid.T) {
			b, m := newMover(t, func(c *Config) { c.Strategy = strategy })
			var addrs []device.Addr
			spare := m.alloc(t, Request{SizeBytes: 64 * kib})
			largest := uint64(4 * kib)
			for range rapid.IntRange(1, 200).Draw(t, "blocks") {
				addrs = append(addrs, m.alloc(t, Request{
					SizeBytes:      rapid.Uint64Range(1, largest).Draw(t, "size"),
					AlignmentBytes: rapid.SampledFrom([]uint64{0, 0, 0, 512}).Draw(t, "alignment"),
					Tag:            rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "tag"),
				}))
			}
			for _, addr := range addrs {
				if rapid.IntRange(0, 3).Draw(t, "fate") != 0 {
					m.free(t, addr)
				}
			}
			m.free(t, spare)
			movable := m.all()
			for addr := range m.live {
				if rapid.IntRange(0, 9).Draw(t, "stays") == 0 && rapid.Bool().Draw(t, "some") {
					movable = without(movable, addr)
				}
			}
			stays := len(movable) < len(m.live)
			m.run(t, movable)
			_, err := m.p.Trim(0)
			require.NoError(t, err)
			held := m.p.HeldBytes()
			if !stays && (strategy == rangealloc.Default || strategy == "tlsf") {
				require.LessOrEqual(t, held/(64*kib), packed(m, 64*kib)*8/3+1, "%d blocks", len(m.live))
			}
			for addr := range m.live {
				m.free(t, addr)
			}
			require.NoError(t, m.p.Close(false))
			require.Zero(t, b.dev.HeldBytes())
		}))
	}
}
