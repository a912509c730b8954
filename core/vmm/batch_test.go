package vmm

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// anyList is a few ranges that are mostly good, in no order.
func (n *naive) anyList(t *rapid.T) (list []ByteRange) {
	for at := rapid.Uint64Range(0, 6).Draw(t, "first"); at < modelPages && len(list) < 6; {
		pages := rapid.Uint64Range(1, 4).Draw(t, "pages")
		r := ByteRange{OffsetBytes: at * page, SizeBytes: pages * page}
		if rapid.IntRange(0, 3).Draw(t, "odd") == 0 {
			r.OffsetBytes, r.SizeBytes = r.OffsetBytes+7, r.SizeBytes-9
		}
		list = append(list, r)
		at += pages + rapid.Uint64Range(0, 3).Draw(t, "gap")
	}
	if rapid.IntRange(0, 7).Draw(t, "wild") == 0 {
		offset, size := n.anyRange(t)
		list = append(list, ByteRange{OffsetBytes: offset, SizeBytes: size})
	}
	return rapid.Permutation(list).Draw(t, "order")
}

// wantList is the code for a list, and which of its ranges the error names, as checks of
// one range and one page after the other find them.
func (n *naive) wantList(list []ByteRange, bad func(ByteRange, []cell) device.Code) (device.Code, int) {
	for i, r := range list {
		if code, _, _ := n.want(r.OffsetBytes, r.SizeBytes); code != device.CodeOK {
			return code, i
		}
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(list[a].OffsetBytes/page, list[b].OffsetBytes/page)
	})
	owner := map[uint64]int{}
	for _, i := range order {
		_, cells, first := n.want(list[i].OffsetBytes, list[i].SizeBytes)
		for p := range uint64(len(cells)) {
			if other, taken := owner[first+p]; taken {
				return device.CodeInvalidOffset, max(i, other)
			}
			owner[first+p] = i
		}
	}
	for _, i := range order {
		_, cells, _ := n.want(list[i].OffsetBytes, list[i].SizeBytes)
		if code := bad(list[i], cells); code != device.CodeOK {
			return code, i
		}
	}
	return device.CodeOK, 0
}

func (n *naive) allocateList(t *rapid.T) {
	list := n.anyList(t)
	var pages uint64
	code, index := n.wantList(list, func(_ ByteRange, cells []cell) device.Code {
		pages += uint64(len(cells))
		if slices.ContainsFunc(cells, func(c cell) bool { return c.allocation != 0 }) {
			return device.CodeAlreadyMapped
		}
		return device.CodeOK
	})
	for _, r := range list {
		_, cells, _ := n.want(r.OffsetBytes, r.SizeBytes)
		if code == device.CodeOK && slices.ContainsFunc(cells, cell.retires) {
			t.Skip("would wait")
		}
	}
	available := n.limit/page - min(n.limit/page, n.used())
	short := code == device.CodeOK && pages > available
	if short {
		code = device.CodeOutOfPhysicalMemory
	}
	stream := n.anyStream(t)
	before := n.pool.Stats().Allocations
	err := n.pool.AllocBatch(list, BatchRequest{Stream: asStream(stream)})
	require.Equal(t, code, device.CodeOf(err), "%v", err)
	switch {
	case short:
		require.ErrorContains(t, err, "requested "+sized(pages*page)+", available "+sized(available*page))
	case err != nil:
		require.ErrorContains(t, err, fmt.Sprintf("ranges[%d]", index))
	default:
		require.Equal(t, before+uint64(len(list)), n.pool.Stats().Allocations)
		for _, r := range list {
			_, cells, _ := n.want(r.OffsetBytes, r.SizeBytes)
			n.ids++
			for i := range cells {
				cells[i] = cell{allocation: n.ids, offset: r.OffsetBytes, size: r.SizeBytes, users: []*devicetest.Stream{stream}}
			}
		}
	}
}

func (n *naive) deallocateList(t *rapid.T) {
	list := n.anyList(t)
	if rapid.Bool().Draw(t, "exact") {
		list = list[:0]
		for _, c := range n.liveCells() {
			if r := (ByteRange{c.offset, c.size}); !slices.Contains(list, r) && rapid.Bool().Draw(t, "this") {
				list = append(list, r)
			}
		}
	}
	code, index := n.wantList(list, func(r ByteRange, cells []cell) device.Code {
		for _, c := range cells {
			if c.allocation == 0 {
				return device.CodeNotMapped
			}
		}
		for _, c := range cells {
			if (r.OffsetBytes%page != 0 || r.SizeBytes%page != 0) && (c.offset != r.OffsetBytes || c.size != r.SizeBytes) {
				return device.CodeInvalidOffset
			}
		}
		return device.CodeOK
	})
	stream := n.anyStream(t)
	marks := make([][]*bool, len(list))
	if code == device.CodeOK && len(list) > 0 {
		// A stream has one mark in a free, which all ranges that it uses wait for.
		of := map[*devicetest.Stream]*bool{}
		for i, r := range list {
			_, cells, _ := n.want(r.OffsetBytes, r.SizeBytes)
			marks[i] = n.markUsersOnce(t, cells, stream, of)
		}
	}
	err := n.pool.FreeBatch(list, asStream(stream))
	require.Equal(t, code, device.CodeOf(err), "%v", err)
	if err != nil {
		require.ErrorContains(t, err, fmt.Sprintf("ranges[%d]", index))
		return
	}
	for i, r := range list {
		_, cells, _ := n.want(r.OffsetBytes, r.SizeBytes)
		for k := range cells {
			cells[k] = cell{marks: marks[i]}
		}
	}
}

// batchScript is a program of batches of which every driver call may fail.
func batchScript(s *script, t require.TestingT) (steps []func()) {
	list := func(pages ...uint64) (list []ByteRange) {
		for i := 0; i < len(pages); i += 2 {
			list = append(list, ByteRange{pages[i] * page, pages[i+1] * page})
		}
		return list
	}
	unchanged := func(err error, before Stats) {
		if s.note(err); err != nil {
			require.Equal(t, before.MappedPages, s.pool.Stats().MappedPages, "all or nothing")
			require.LessOrEqual(t, s.pool.Stats().PhysicalBytes, before.PhysicalBytes)
		}
	}
	allocate := func(pages ...uint64) func() {
		return func() { before := s.pool.Stats(); unchanged(s.pool.AllocBatch(list(pages...), BatchRequest{}), before) }
	}
	free := func(on device.Stream, pages ...uint64) func() {
		return func() { before := s.pool.Stats(); unchanged(s.pool.FreeBatch(list(pages...), on), before) }
	}
	ph := s.pool.physical
	return []func(){
		allocate(9, 2, 0, 1, 4, 3), ph.Settle, free(nil, 4, 1, 9, 2),
		// Revived and fresh pages in two ranges of one list.
		allocate(8, 2, 10, 2, 4, 1), free(nil, 0, 1, 6, 1),
		func() { s.note(s.stream.HostFunction(func() {})) },
		func() { s.note(s.pool.RecordStream(8*page, page, s.stream)) },
		free(s.stream, 10, 2), free(nil, 8, 2, 4, 2),
		func() { s.stream.Step(100) },
		allocate(20, 4, 28, 4, 16, 2), ph.Settle, free(nil, 20, 4), allocate(0, 1, 2, 1, 4, 1, 6, 1),
		func() { s.note(s.pool.SetLimit(14 * page)) },
	}
}

// For every n the n-th driver call of the script fails: the pool, its counters and the device are
// exact after every step.
func TestEveryDriverCallOfBatchesFailsOnce(t *testing.T) {
	for _, backing := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
		run := func(t require.TestingT, s *script) {
			for _, step := range batchScript(s, t) {
				step()
				s.check(t)
			}
		}
		count := newScript(t, backing)
		before := count.dev.Calls(devicetest.Any)
		run(t, count)
		require.Zero(t, count.failed, "without a fault every step works: %v", count.last)
		calls := count.dev.Calls(devicetest.Any) - before
		require.Greater(t, calls, 25)
		seen := 0
		for n := 1; n <= calls; n++ {
			t.Run(fmt.Sprint("backing ", backing, " call ", n), func(t *testing.T) {
				s := newScript(t, backing)
				s.dev.FailNth(devicetest.Any, n, nil)
				run(t, s)
				require.Zero(t, s.dev.ClearFaults(), "the fault was met")
				if s.failed > 0 {
					seen++
				}
				s.stream.Release()
				require.NoError(t, s.stream.Close())
				s.quit(t)
			})
		}
		require.Greater(t, seen, calls/3, "faults are reported, not swallowed")
	}
}

// Ranges that lie side by side are one call of the driver.
func TestABatchMapsNeighboursTogether(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	require.NoError(t, r.pool.AllocBatch([]ByteRange{{2 * page, page}, {0, page}, {page, page}, {9 * page, page}}, BatchRequest{}))
	require.Equal(t, 2, r.dev.Calls(devicetest.Map))
	require.Equal(t, uint64(4), r.engine.Statistics().LiveBlocks.Current)
	require.NoError(t, r.pool.Free(page, page, nil), "each is an allocation of its own")
	r.quit(t)
}

// A range of a list waits for the streams that use it, and not for those of another.
func TestRangesOfABatchWaitForTheirOwnStreams(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	made, err := r.dev.NewStream()
	require.NoError(t, err)
	stream := made.(*devicetest.Stream)
	stream.Hold()
	list := []ByteRange{{0, page}, {4 * page, page}, {8 * page, page}}
	require.NoError(t, r.pool.AllocBatch(list, BatchRequest{}))
	require.NoError(t, r.pool.RecordStream(4*page, page, stream))
	require.NoError(t, r.pool.RecordStream(8*page, page, stream))
	require.NoError(t, stream.HostFunction(func() {}))
	require.NoError(t, r.pool.FreeBatch(list, nil))
	require.Equal(t, uint64(2), r.pool.Stats().RetiringPages)
	require.Equal(t, 1, r.dev.OpenEvents(), "one event for both")
	r.check(t)
	stream.Release()
	require.NoError(t, r.pool.Synchronize())
	require.Zero(t, r.pool.Stats().RetiringPages)
	require.Zero(t, r.dev.OpenEvents())
	require.NoError(t, stream.Close())
	r.quit(t)
}

// A list may have ranges that sleep and others that do not.
func TestABatchFreesWhatSleepsToo(t *testing.T) {
	r := newRig(t, backed(devicetest.Config{}), nil)
	keep(r.pool.physical, r.dev)
	require.NoError(t, r.pool.AllocBatch([]ByteRange{{0, page}, {6 * page, page}}, BatchRequest{Tag: "cold"}))
	require.NoError(t, r.pool.AllocBatch([]ByteRange{{2 * page, 2 * page}}, BatchRequest{}))
	_, err := r.pool.Sleep(background, SleepRequest{Tag: "cold"})
	require.NoError(t, err)
	err = r.pool.AllocBatch([]ByteRange{{9 * page, page}, {6 * page, page}}, BatchRequest{})
	require.ErrorIs(t, err, device.CodeInvalidState)
	require.ErrorContains(t, err, "ranges[1]")
	err = r.pool.FreeBatch([]ByteRange{{0, page}, {9 * page, page}}, nil)
	require.ErrorIs(t, err, device.CodeNotMapped)
	require.ErrorContains(t, err, "ranges[1]")
	require.Equal(t, uint64(2), r.pool.Stats().AsleepPages, "nothing has changed")
	require.NoError(t, r.pool.FreeBatch([]ByteRange{{6 * page, page}, {2 * page, 2 * page}, {0, page}}, nil))
	require.Zero(t, r.pool.Stats().AsleepPages+r.pool.Stats().MappedPages)
	r.quit(t)
}

// Threads map and unmap lists and single ranges that overlap, while other threads put the
// pool to sleep and wake it. No two threads have the same page.
func TestBatchesOfManyThreads(t *testing.T) {
	r := newRig(t, backed(devicetest.Config{}), func(c *Config) { c.LimitBytes = 20 * page })
	keep(r.pool.physical, r.dev)
	var threads sync.WaitGroup
	for thread := range uint64(4) {
		threads.Add(1)
		go func() {
			defer threads.Done()
			for round := range uint64(150) {
				list := []ByteRange{{(thread + 3*round) % 32 * page, page}, {(7*thread + round + 11) % 32 * page, page}}
				if thread%2 == 0 || list[0] == list[1] {
					list = list[:1]
				}
				if r.pool.AllocBatch(list, BatchRequest{}) == nil {
					for r.pool.FreeBatch(list, nil) != nil {
						_, _ = r.pool.Wake(background, WakeRequest{})
					}
				}
			}
		}()
	}
	threads.Add(1)
	go func() {
		defer threads.Done()
		for range 40 {
			_, _ = r.pool.Sleep(background, SleepRequest{})
			_, _ = r.pool.Wake(background, WakeRequest{})
		}
	}()
	threads.Wait()
	require.Zero(t, r.pool.Stats().MappedPages+r.pool.Stats().AsleepPages)
	r.quit(t)
}

// The pages of a list are one order: a callback is asked once for all that is missing, and
// when it is not enough nothing changes.
func TestABatchOfAModelIsOneOrder(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 10)
	giver, taker := p.model(t, "giver", 0, 0, -1), p.model(t, "taker", 0, 0, 0)
	held := []Allocation{get(t, giver, 4), get(t, giver, 4)}
	var asked []uint64
	_, err := p.shared.OnReclaim("giver", 0, func(needed uint64) (freed uint64) {
		asked = append(asked, needed)
		if len(held) == 0 {
			return 0
		}
		free(t, giver, held[0])
		held = held[1:]
		return 4 * page
	})
	require.NoError(t, err)
	list := []ByteRange{{40 * page, page}, {0, 2 * page}, {20 * page, 2 * page}}
	require.NoError(t, taker.AllocBatch(list, BatchRequest{Tag: "kv"}))
	require.Equal(t, []uint64{3 * page}, asked, "the callback is called once, for the sum")
	for _, r := range list {
		require.True(t, taker.IsMapped(r.OffsetBytes, r.SizeBytes))
	}
	p.check(t)
	stats, _ := p.shared.ModelStats("taker")
	require.EqualValues(t, 3, stats.Allocations)

	// 6 more than the 1 that is free: 4 can be had, which do not suffice.
	before := p.engine.Statistics()
	err = taker.AllocBatch([]ByteRange{{50 * page, 3 * page}, {4 * page, 4 * page}}, BatchRequest{})
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
	require.ErrorContains(t, err, "requested "+sized(7*page))
	require.False(t, taker.IsMapped(50*page, 1))
	require.False(t, taker.IsMapped(4*page, 1))
	require.Equal(t, before.LiveBlocks.Current-1, p.engine.Statistics().LiveBlocks.Current, "the giver has freed one")
	p.check(t)

	require.ErrorContains(t, taker.AllocBatch([]ByteRange{{4 * page, page}, {page, page}}, BatchRequest{}), "ranges[1]")
	require.NoError(t, taker.FreeBatch([]ByteRange{list[2], list[0]}, nil))
	err = taker.FreeBatch([]ByteRange{list[1], list[0]}, nil)
	require.ErrorIs(t, err, device.CodeNotMapped)
	require.ErrorContains(t, err, "ranges[1]")
	require.True(t, taker.IsMapped(0, 2*page), "nothing has changed")
	stats, _ = p.shared.ModelStats("taker")
	require.EqualValues(t, 2, stats.Frees)
	require.NoError(t, p.shared.Unregister("taker", true))
	require.ErrorIs(t, taker.AllocBatch(list, BatchRequest{}), device.CodeModelNotFound)
	require.ErrorIs(t, taker.FreeBatch(list, nil), device.CodeModelNotFound)
	p.quit(t)
}

func TestListsThatNameAPageTwice(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	for _, list := range [][]ByteRange{
		{{0, page}, {4 * page, 2 * page}, {5*page + 7, 1}}, {{0, page}, {8 * page, page}, {8 * page, page}},
	} {
		for _, err := range []error{r.pool.AllocBatch(list, BatchRequest{}), r.pool.FreeBatch(list, nil)} {
			require.ErrorIs(t, err, device.CodeInvalidOffset)
			require.ErrorContains(t, err, "ranges[2]")
			require.ErrorContains(t, err, "ranges[1]")
		}
	}
	require.NoError(t, r.pool.AllocBatch(nil, BatchRequest{}))
	require.NoError(t, r.pool.FreeBatch(nil, nil))
	r.quit(t)
}
