package vmm

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// placeAll places ranges one after the other, each in the first free run.
func (m *naiveModel) placeAll(sizes []uint64) (placed []naiveRange, ok bool) {
	trial := naiveModel{ranges: slices.Clone(m.ranges), retiring: m.retiring}
	for _, size := range sizes {
		start, fits := trial.firstFit((size + page - 1) / page)
		if !fits {
			return nil, false
		}
		trial.ranges = append(trial.ranges, naiveRange{start * page, size})
	}
	return trial.ranges[len(m.ranges):], true
}

func (n *naiveElastic) allocateAnywhere(t *rapid.T) {
	m := n.pick(t)
	size := rapid.OneOf(rapid.Map(rapid.Uint64Range(1, 4), func(p uint64) uint64 { return p * page }), rapid.Uint64Range(1, 6*page))
	sizes := rapid.SliceOfN(size, 1, 5).Draw(t, "sizes")
	pages := uint64(0)
	for _, size := range sizes {
		pages += (size + page - 1) / page
	}
	got, err := m.real.AllocBatchAnywhere(sizes, BatchRequest{})
	n.calls.Lock()
	defer n.calls.Unlock()
	if _, fits := m.placeAll(sizes); !fits {
		require.ErrorIs(t, err, device.CodeOutOfVirtualMemory)
		require.ErrorContains(t, err, "sizes[")
		m.failures++
		return
	}
	if !n.admit(m, pages) {
		require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
		m.failures++
		return
	}
	require.NoError(t, err)
	placed, _ := m.placeAll(sizes)
	for i, r := range placed {
		require.Equal(t, r.offset, got[i], "offset %d of %v", i, got)
	}
	m.ranges = append(m.ranges, placed...)
}

func (n *naive) recordList(t *rapid.T) {
	list := n.anyList(t)
	code, index := n.wantList(list, func(_ ByteRange, cells []cell) device.Code {
		if slices.ContainsFunc(cells, func(c cell) bool { return c.allocation == 0 }) {
			return device.CodeNotMapped
		}
		return device.CodeOK
	})
	stream := n.anyStream(t)
	err := n.pool.RecordStreamBatch(list, asStream(stream))
	require.Equal(t, code, device.CodeOf(err), "%v", err)
	if err != nil {
		require.ErrorContains(t, err, fmt.Sprintf("ranges[%d]", index))
		return
	}
	for _, r := range list {
		_, cells, _ := n.want(r.OffsetBytes, r.SizeBytes)
		for i := range cells {
			cells[i].users = append(slices.Clone(cells[i].users), stream)
		}
	}
}

// allocateAnywhere is allocate for a list of ranges.
func (p *play) allocateAnywhere(t require.TestingT, id string, pages ...uint64) func() {
	return func() {
		m, err := p.shared.Model(id)
		if !p.note(err) {
			return
		}
		sizes := make([]uint64, len(pages))
		for i := range pages {
			sizes[i] = pages[i] * page
		}
		before, _ := p.shared.ModelStats(id)
		offsets, err := m.AllocBatchAnywhere(sizes, BatchRequest{Stream: p.stream})
		if p.note(err) {
			for i, offset := range offsets {
				p.held[id] = append(p.held[id], Allocation{OffsetBytes: offset, SizeBytes: sizes[i]})
			}
			return
		}
		after, _ := p.shared.ModelStats(id)
		require.Equal(t, before.MappedPages, after.MappedPages, "all or nothing")
		require.LessOrEqual(t, after.PhysicalBytes, before.PhysicalBytes)
	}
}

// record records the held stream for all ranges of a model in one call.
func (p *play) record(t require.TestingT, id string) func() {
	return func() {
		m, err := p.shared.Model(id)
		if !p.note(err) {
			return
		}
		var list []ByteRange
		for _, r := range p.held[id] {
			list = append(list, ByteRange{r.OffsetBytes, r.SizeBytes})
		}
		require.NoError(t, m.RecordStreamBatch(list, p.stream), "it makes no call of the driver")
	}
}

func (p *play) runAnywhere(t require.TestingT, after func()) {
	steps := []func(){
		p.register("a", 2), p.register("b", 0),
		p.allocateAnywhere(t, "a", 1, 3, 1),
		p.free(t, "a", false),
		p.allocateAnywhere(t, "a", 2, 1), // one revives a freed page, one maps fresh ones
		p.record(t, "a"),
		func() { p.note(p.stream.HostFunction(func() {})) },
		p.free(t, "a", false),
		func() { p.stream.Step(100) },
		func() { p.shared.physical.Settle() },
		p.allocateAnywhere(t, "b", 1, 1, 2, 1),
		p.record(t, "b"),
		p.free(t, "b", true), p.free(t, "b", false),
		p.allocateAnywhere(t, "b", 1, 2),
		p.unregister("a", true), p.unregister("b", true),
	}
	for _, step := range steps {
		step()
		after()
	}
}

// For every n the n-th driver call of the program fails. Each list is allocated wholly or
// not at all, and models, counters and device are exact after every step.
func TestEveryDriverCallOfBatchesAnywhereFailsOnce(t *testing.T) {
	for _, backing := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
		count := newPlay(t, backing)
		before := count.dev.Calls(devicetest.Any)
		count.runAnywhere(t, func() {})
		require.Zero(t, count.failed, "without a fault every step works")
		calls := count.dev.Calls(devicetest.Any) - before
		require.Greater(t, calls, 20)
		seen := 0
		for n := 1; n <= calls; n++ {
			t.Run(fmt.Sprint("backing ", backing, " call ", n), func(t *testing.T) {
				p := newPlay(t, backing)
				p.dev.FailNth(devicetest.Any, n, nil)
				p.runAnywhere(t, func() { p.check(t) })
				require.Zero(t, p.dev.ClearFaults(), "the fault was met")
				if p.failed > 0 {
					seen++
				}
				p.stream.Release()
				for _, id := range []string{"a", "b"} {
					if _, err := p.shared.Model(id); err == nil {
						require.NoError(t, p.shared.Unregister(id, true))
					}
				}
				require.NoError(t, p.stream.Close())
				p.quit(t)
			})
		}
		require.Greater(t, seen, calls/3, "faults are reported, not swallowed")
	}
}

func TestSizesOfABatchAnywhereAreChecked(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 30)
	m := p.model(t, "m", 0, 0, -1)
	capacity := m.CapacityBytes()
	none, err := m.AllocBatchAnywhere(nil, BatchRequest{})
	require.NoError(t, err)
	require.Empty(t, none)
	for _, c := range []struct {
		sizes []uint64
		code  device.Code
		text  string
	}{
		{[]uint64{page, 0}, device.CodeInvalidSize, "sizes[1]"},
		{[]uint64{page, ^uint64(0)}, device.CodeOutOfVirtualMemory, "sizes[1]"},
		{[]uint64{page, capacity - page, 1}, device.CodeOutOfVirtualMemory, "sizes[2]"},
		{[]uint64{20 * page, 20 * page}, device.CodeOutOfPhysicalMemory, "requested " + sized(40*page)},
	} {
		_, err := m.AllocBatchAnywhere(c.sizes, BatchRequest{})
		require.ErrorIs(t, err, c.code, "%v", c.sizes)
		require.ErrorContains(t, err, c.text)
		p.check(t)
	}
	stats, _ := p.shared.ModelStats("m")
	require.Zero(t, stats.Allocations+stats.MappedPages)
	offsets, err := m.AllocBatchAnywhere([]uint64{2 * page, 1, page + 1}, BatchRequest{Tag: "kv"})
	require.NoError(t, err)
	require.Equal(t, []uint64{0, 2 * page, 3 * page}, offsets)
	require.NoError(t, m.Free(2*page, 1, nil), "each is an allocation of its own")
	// A hole of one page: the longer range goes behind, the shorter one into it.
	offsets, err = m.AllocBatchAnywhere([]uint64{2 * page, page}, BatchRequest{})
	require.NoError(t, err)
	require.Equal(t, []uint64{5 * page, 2 * page}, offsets)
	require.NoError(t, p.shared.Unregister("m", true))
	_, err = m.AllocBatchAnywhere([]uint64{page}, BatchRequest{})
	require.ErrorIs(t, err, device.CodeModelNotFound)
	require.ErrorIs(t, m.RecordStreamBatch([]ByteRange{{0, page}}, nil), device.CodeModelNotFound)
	p.quit(t)
}

// A list waits for retiring ranges that it needs. It goes into them in its own order.
func TestABatchAnywhereWaitsForRetiringRanges(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 1000)
	m := p.model(t, "m", 0, 0, -1)
	pages := m.CapacityBytes() / page
	stream := holding(t, p.dev)
	all := get(t, m, pages)
	require.NoError(t, m.Free(all.OffsetBytes+2*page, all.SizeBytes-2*page, nil))
	require.NoError(t, m.Free(all.OffsetBytes, 2*page, stream))
	var offsets []uint64
	var err error
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer done.Done()
		// Only when the first two pages are free, both find a place.
		offsets, err = m.AllocBatchAnywhere([]uint64{2 * page, (pages - 2) * page}, BatchRequest{})
	}()
	stream.Release()
	done.Wait()
	require.NoError(t, err)
	require.Equal(t, []uint64{0, 2 * page}, offsets)
	require.NoError(t, stream.Close())
	require.NoError(t, p.shared.Unregister("m", true))
	p.quit(t)
}

// Threads allocate lists anywhere and free them. No two ranges overlap, and nothing is left.
func TestBatchesAnywhereOfManyThreads(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 24)
	m := p.model(t, "m", 0, 0, -1)
	var mu sync.Mutex
	owner := map[uint64]int{}
	var threads sync.WaitGroup
	for thread := range 4 {
		threads.Add(1)
		go func() {
			defer threads.Done()
			sizes := []uint64{page, uint64(thread+1) * page, page}
			for range 100 {
				offsets, err := m.AllocBatchAnywhere(sizes, BatchRequest{})
				if err != nil {
					continue
				}
				var list []ByteRange
				mu.Lock()
				for i, offset := range offsets {
					list = append(list, ByteRange{offset, sizes[i]})
					for at := offset; at < offset+sizes[i]; at += page {
						if owner[at] != 0 {
							t.Errorf("page %d has two owners", at/page)
						}
						owner[at] = thread + 1
					}
				}
				for i, offset := range offsets {
					for at := offset; at < offset+sizes[i]; at += page {
						delete(owner, at)
					}
				}
				err = m.FreeBatch(list, nil)
				mu.Unlock()
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	threads.Wait()
	p.check(t)
	stats, _ := p.shared.ModelStats("m")
	require.Zero(t, stats.MappedPages)
	require.NoError(t, p.shared.Unregister("m", false))
	p.quit(t)
}

// All ranges of a list wait for a recorded stream, or none does.
func TestAStreamIsRecordedForAllRangesOrNone(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	stream := holding(t, r.dev)
	list := []ByteRange{{4 * page, page}, {0, 2 * page}}
	require.NoError(t, r.pool.AllocBatch(list, BatchRequest{}))
	err := r.pool.RecordStreamBatch(append(slices.Clone(list), ByteRange{9 * page, page}), stream)
	require.ErrorIs(t, err, device.CodeNotMapped)
	require.ErrorContains(t, err, "ranges[2]")
	require.NoError(t, r.pool.FreeBatch(list, nil))
	require.Zero(t, r.pool.Stats().RetiringPages, "no range waits")
	require.NoError(t, r.pool.AllocBatch(list, BatchRequest{}))
	require.NoError(t, r.pool.RecordStreamBatch(list, stream))
	require.NoError(t, r.pool.RecordStreamBatch(nil, stream))
	require.NoError(t, r.pool.FreeBatch(list, nil))
	require.Equal(t, uint64(3), r.pool.Stats().RetiringPages)
	stream.Release()
	require.NoError(t, r.pool.Synchronize())
	require.NoError(t, stream.Close())
	r.quit(t)
}
