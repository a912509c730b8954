package vmm

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// naive is the reference model of a pool: a slice with a cell for each page.
type naive struct {
	*rig
	streams []*devicetest.Stream
	cells   []cell
	ids     int
	// marked states that the piece of work that ran last was a mark.
	marked bool
	limit  uint64
}

// cell is a page. allocation is 0 if it is not live. users has the stream of the
// allocation and the recorded ones. marks are queued on each stream behind the free
// that made the page retire.
type cell struct {
	allocation   int
	offset, size uint64
	users        []*devicetest.Stream
	marks        []*bool
}

const modelPages = 24

func (n *naive) used() (pages uint64) {
	for _, c := range n.cells {
		if c.allocation != 0 || c.retires() {
			pages++
		}
	}
	return pages
}

func (c cell) retires() bool {
	return slices.ContainsFunc(c.marks, func(mark *bool) bool { return !*mark })
}

// anyStream returns one of the streams, or nil: the default one, which has no queued
// work.
func (n *naive) anyStream(t *rapid.T) *devicetest.Stream {
	return rapid.SampledFrom(append(slices.Clone(n.streams), nil)).Draw(t, "stream")
}

// asStream converts nil to a nil interface.
func asStream(s *devicetest.Stream) device.Stream {
	if s == nil {
		return nil
	}
	return s
}

func (n *naive) anyRange(t *rapid.T) (offset, size uint64) {
	draw := rapid.OneOf(
		rapid.Map(rapid.Uint64Range(0, modelPages+1), func(p uint64) uint64 { return p * page }),
		rapid.Uint64Range(0, (modelPages+2)*page))
	offset = draw.Draw(t, "offset")
	size = rapid.OneOf(rapid.Map(rapid.Uint64Range(0, 6), func(p uint64) uint64 { return p * page }),
		rapid.Uint64Range(1, 5*page), rapid.Just(^uint64(0))).Draw(t, "size")
	return offset, size
}

// want returns the expected code for a range, and its pages.
func (n *naive) want(offset, size uint64) (device.Code, []cell, uint64) {
	if size == 0 {
		return device.CodeInvalidSize, nil, 0
	}
	if offset > modelPages*page || size > modelPages*page-offset {
		return device.CodeInvalidOffset, nil, 0
	}
	first, end := offset/page, (offset+size+page-1)/page
	return device.CodeOK, n.cells[first:end], first
}

func (n *naive) allocate(t *rapid.T) {
	offset, size := n.anyRange(t)
	code, cells, first := n.want(offset, size)
	for i, c := range cells {
		if code == device.CodeOK && c.allocation != 0 {
			code = device.CodeAlreadyMapped
			_, err := n.pool.Alloc(offset, size)
			require.ErrorContains(t, err, "page at offset "+text((first+uint64(i))*page)+", page size "+text(page))
		}
	}
	for _, c := range cells {
		if code == device.CodeOK && c.retires() {
			t.Skip("would wait")
		}
	}
	available := n.limit/page - min(n.limit/page, n.used())
	if code == device.CodeOK && uint64(len(cells)) > available {
		code = device.CodeOutOfPhysicalMemory
	}
	stream := n.anyStream(t)
	addr, err := n.pool.AllocTagged(AllocRequest{OffsetBytes: offset, SizeBytes: size, Stream: asStream(stream)})
	require.Equal(t, code, device.CodeOf(err), "%v", err)
	if code == device.CodeOutOfPhysicalMemory {
		require.ErrorContains(t, err, fmt.Sprintf("requested %v, available %v", device.Size(uint64(len(cells))*page), device.Size(available*page)))
	}
	if err != nil {
		require.Zero(t, addr)
		return
	}
	require.Equal(t, n.pool.BaseAddress()+device.Addr(offset), addr)
	n.ids++
	for i := range cells {
		cells[i] = cell{allocation: n.ids, offset: offset, size: size, users: []*devicetest.Stream{stream}}
	}
}

func (n *naive) deallocate(t *rapid.T) {
	offset, size := n.anyRange(t)
	if live := n.liveCells(); len(live) > 0 && rapid.Bool().Draw(t, "exact") {
		c := rapid.SampledFrom(live).Draw(t, "cell")
		offset, size = c.offset, c.size
	}
	code, cells, _ := n.want(offset, size)
	for _, c := range cells {
		if code == device.CodeOK && c.allocation == 0 {
			code = device.CodeNotMapped
		}
	}
	whole := offset%page == 0 && size%page == 0
	for _, c := range cells {
		if code == device.CodeOK && !whole && (c.offset != offset || c.size != size) {
			code = device.CodeInvalidOffset
		}
	}
	stream := n.anyStream(t)
	var marks []*bool
	if code == device.CodeOK {
		marks = n.markUsers(t, cells, stream)
	}
	err := n.pool.Free(offset, size, asStream(stream))
	require.Equal(t, code, device.CodeOf(err), "%v", err)
	if err == nil {
		for i := range cells {
			cells[i] = cell{marks: marks}
		}
	}
}

// markUsers queues a mark on every stream with work that uses some of the cells, and on
// one more.
func (n *naive) markUsers(t *rapid.T, cells []cell, stream *devicetest.Stream) (marks []*bool) {
	return n.markUsersOnce(t, cells, stream, map[*devicetest.Stream]*bool{})
}

// markUsersOnce is markUsers for one of several ranges of a free, in which a stream has one
// mark.
func (n *naive) markUsersOnce(t *rapid.T, cells []cell, stream *devicetest.Stream, of map[*devicetest.Stream]*bool) (marks []*bool) {
	users := []*devicetest.Stream{stream}
	for _, c := range cells {
		users = append(users, c.users...)
	}
	marked := map[*devicetest.Stream]bool{nil: true}
	for _, user := range users {
		if marked[user] || (of[user] == nil && user.Queued() == 0) {
			continue
		}
		marked[user] = true
		if of[user] == nil {
			mark := new(bool)
			require.NoError(t, user.HostFunction(func() { *mark, n.marked = true, true }))
			of[user] = mark
		}
		marks = append(marks, of[user])
	}
	return marks
}

func (n *naive) record(t *rapid.T) {
	offset, size := n.anyRange(t)
	code, cells, first := n.want(offset, size)
	stream := n.anyStream(t)
	err := n.pool.RecordStream(offset, size, asStream(stream))
	for i, c := range cells {
		if code == device.CodeOK && c.allocation == 0 {
			code = device.CodeNotMapped
			require.ErrorContains(t, err, "page at offset "+text((first+uint64(i))*page)+", page size "+text(page))
		}
	}
	require.Equal(t, code, device.CodeOf(err), "%v", err)
	for i := range cells {
		if err == nil {
			cells[i].users = append(slices.Clone(cells[i].users), stream)
		}
	}
}

// renew closes a drained stream and opens another.
func (n *naive) renew(t *rapid.T) {
	at := rapid.IntRange(0, len(n.streams)-1).Draw(t, "stream")
	n.streams[at].Release()
	require.NoError(t, n.streams[at].Close())
	stream, err := n.dev.NewStream()
	require.NoError(t, err)
	n.streams[at] = stream.(*devicetest.Stream)
	n.streams[at].Hold()
}

func (n *naive) liveCells() (live []cell) {
	for _, c := range n.cells {
		if c.allocation != 0 {
			live = append(live, c)
		}
	}
	return live
}

func (n *naive) compare(t *rapid.T) {
	n.pool.physical.CompleteFrees()
	n.check(t)
	stats := n.pool.Stats()
	live := uint64(len(n.liveCells()))
	require.Equal(t, live, stats.MappedPages)
	require.Equal(t, n.used(), live+stats.RetiringPages)
	require.Equal(t, n.used()*page, n.pool.PhysicalBytes())
	longest, free, current := uint64(0), uint64(0), uint64(0)
	for _, c := range n.cells {
		current++
		if c.allocation != 0 || c.retires() {
			current = 0
		} else {
			free++
		}
		longest = max(longest, current)
	}
	require.Equal(t, longest*page, stats.LargestFreeRunBytes)
	if free > 0 {
		require.InDelta(t, 1-float64(longest)/float64(free), stats.Fragmentation, 1e-6)
	}
	require.InDelta(t, 1-float64(live)/modelPages, stats.UnmappedShare, 1e-6)
}

func TestRandomProgramsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &naive{limit: 64 * mib, cells: make([]cell, modelPages)}
		backing := rapid.SampledFrom([]device.Backing{device.BackingMovable, device.BackingPrivate}).Draw(t, "backing")
		ready := rapid.SampledFrom([]int{-1, 0, 3}).Draw(t, "ready")
		n.rig = newRig(t, devicetest.Config{}, func(c *Config) {
			c.CapacityBytes, c.Backing, c.ReadyPages = modelPages*page-5, backing, ready
		})
		for range 3 {
			stream, err := n.dev.NewStream()
			require.NoError(t, err)
			n.streams = append(n.streams, stream.(*devicetest.Stream))
			n.streams[len(n.streams)-1].Hold()
		}
		t.Repeat(map[string]func(*rapid.T){
			"allocate": n.allocate, "allocate2": n.allocate, "deallocate": n.deallocate, "deallocate2": n.deallocate,
			"allocateList": n.allocateList, "deallocateList": n.deallocateList, "recordList": n.recordList,
			"isMapped": func(t *rapid.T) {
				offset, size := n.anyRange(t)
				code, cells, _ := n.want(offset, size)
				mapped := code == device.CodeOK
				for _, c := range cells {
					mapped = mapped && c.allocation != 0
				}
				require.Equal(t, mapped, n.pool.IsMapped(offset, size))
			},
			"limit": func(t *rapid.T) {
				n.limit = rapid.SampledFrom([]uint64{64 * mib, 20 * page, 12*page + 1, 5 * page}).Draw(t, "limit")
				require.NoError(t, n.pool.SetLimit(n.limit))
				stats := n.pool.Stats()
				require.LessOrEqual(t, stats.HeldBytes, max(n.limit, stats.PhysicalBytes))
			},
			"work": func(t *rapid.T) {
				require.NoError(t, rapid.SampledFrom(n.streams).Draw(t, "stream").HostFunction(func() {}))
			},
			"step": func(t *rapid.T) {
				stream := rapid.SampledFrom(n.streams).Draw(t, "stream")
				for range rapid.IntRange(1, 5).Draw(t, "n") {
					n.marked = false
					if stream.Step(1); n.marked {
						stream.Step(1) // the pool's own event is right behind it
					}
				}
			},
			"record": n.record, "record2": n.record, "renew": n.renew,
			"settle": func(*rapid.T) { n.pool.physical.Settle() },
			"tick":   func(*rapid.T) { n.pool.physical.tick() },
			"compact": func(t *rapid.T) {
				report, err := n.pool.Compact()
				require.NoError(t, err)
				require.LessOrEqual(t, report.RunsAfter, report.RunsBefore)
				require.Zero(t, n.pool.Stats().ParkedPages)
				require.LessOrEqual(t, n.pool.Stats().ReadyPages, n.pool.physical.ready)
			},
			"trim": func(t *rapid.T) {
				keep := rapid.Uint64Range(0, 10).Draw(t, "keep")
				_, err := n.pool.physical.Trim(keep)
				require.NoError(t, err)
				stats := n.pool.Stats()
				require.LessOrEqual(t, stats.ReadyPages+stats.ParkedPages, keep)
			},
			"": n.compare,
		})
		for _, stream := range n.streams {
			stream.Release()
			require.NoError(t, stream.Close())
		}
		n.quit(t)
	})
}
