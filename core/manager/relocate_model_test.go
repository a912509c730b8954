package manager

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/pool"
)

// movable is the expected state of a block.
type movable struct {
	content     []byte
	addr        device.Addr
	relocatable bool
	pins        int
	// on is the last stream that used it, 0: none.
	on StreamHandle
}

// relocationModel runs random programs on a manager and knows the bytes of every block,
// and which blocks may not move.
type relocationModel struct {
	*rig
	m      *Manager
	blocks map[MemoryHandle]*movable
	order  []MemoryHandle
	stream StreamHandle
	held   *devicetest.Stream
	// holds states that the stream holds its work, and queued that it has some.
	holds, queued bool
	next          byte
}

func (m *relocationModel) pick(t *rapid.T) (MemoryHandle, *movable) {
	if len(m.order) == 0 {
		t.Skip("no block")
	}
	h := rapid.SampledFrom(m.order).Draw(t, "block")
	return h, m.blocks[h]
}

func (m *relocationModel) allocate(t *rapid.T) {
	r := Request{SizeBytes: rapid.Uint64Range(1, 12*kib).Draw(t, "size"), Relocatable: rapid.IntRange(0, 4).Draw(t, "relocatable") != 0,
		AlignmentBytes: rapid.SampledFrom([]uint64{0, 0, 1024}).Draw(t, "alignment")}
	h, err := m.m.AllocTyped(r)
	require.NoError(t, err)
	m.next++
	b := &movable{content: bytes.Repeat([]byte{m.next}, int(r.SizeBytes)), relocatable: r.Relocatable}
	m.write(t, h, b.content)
	info, err := m.factory.HandleInfo(h)
	require.NoError(t, err)
	b.addr = info.Addr
	m.blocks[h], m.order = b, append(m.order, h)
}

// use queues a fill on the stream, which may hold it.
func (m *relocationModel) use(t *rapid.T) {
	h, b := m.pick(t)
	m.next++
	require.NoError(t, m.factory.FillAsync(fillOf(h, 0, uint64(len(b.content)), uint32(m.next), 1), m.stream))
	b.content, b.on = bytes.Repeat([]byte{m.next}, len(b.content)), m.stream
	m.queued = m.queued || m.holds
	m.settle(t)
}

// settle waits for the stream, unless it holds its work.
func (m *relocationModel) settle(t *rapid.T) {
	if !m.holds {
		require.NoError(t, m.factory.SynchronizeStream(m.stream, device.Forever))
	}
}

func (m *relocationModel) free(t *rapid.T) {
	h, b := m.pick(t)
	err := m.factory.Free(h)
	if b.pins > 0 {
		require.Equal(t, device.CodeBusy, device.CodeOf(err))
		return
	}
	require.NoError(t, err)
	delete(m.blocks, h)
	for i, other := range m.order {
		if other == h {
			m.order = append(m.order[:i], m.order[i+1:]...)
			break
		}
	}
}

func (m *relocationModel) pin(t *rapid.T) {
	h, b := m.pick(t)
	addr, err := m.factory.Pin(h)
	require.NoError(t, err)
	require.Equal(t, b.addr, addr)
	b.pins++
}

func (m *relocationModel) unpin(t *rapid.T) {
	h, b := m.pick(t)
	err := m.factory.Unpin(h)
	if b.pins == 0 {
		require.Equal(t, device.CodeInvalidState, device.CodeOf(err))
		return
	}
	require.NoError(t, err)
	b.pins--
}

// inUse reports whether the stream has used the block and has work that has not
// completed.
func (m *relocationModel) inUse(b *movable) bool { return m.queued && b.on != 0 }

func (m *relocationModel) defragment(t *rapid.T) {
	budget := rapid.SampledFrom([]time.Duration{device.Forever, device.Forever, 0}).Draw(t, "budget")
	stats, err := m.m.DefragmentWithin(budget)
	require.NoError(t, err)
	require.EqualValues(t, len(m.blocks), stats.BlocksMoved+stats.BlocksSkipped+stats.BlocksKept)
	want, moved := m.moved(t)
	want.NoRoom = stats.Skipped.NoRoom
	if budget == 0 {
		want = Skipped{OverBudget: uint64(len(m.blocks))} // no block was checked
		require.Zero(t, moved)
	} else {
		require.False(t, stats.BudgetEnded)
	}
	require.Equal(t, want, stats.Skipped)
	require.Equal(t, moved, stats.BlocksMoved)
}

// defragmentSome uses a budget that ends anywhere, and continues where an earlier call
// ended.
func (m *relocationModel) defragmentSome(t *rapid.T) {
	stats := m.m.moveWithin(t, rapid.IntRange(1, 30).Draw(t, "looks"))
	require.GreaterOrEqual(t, stats.BlocksMoved+stats.BlocksSkipped+stats.BlocksKept, uint64(len(m.blocks)))
	_, moved := m.moved(t)
	require.Equal(t, moved, stats.BlocksMoved)
}

// moved counts the moved blocks, and by reason those that may not move.
func (m *relocationModel) moved(t *rapid.T) (want Skipped, moved uint64) {
	for h, b := range m.blocks {
		info, err := m.factory.HandleInfo(h)
		require.NoError(t, err)
		switch {
		case !b.relocatable:
			want.NotRelocatable++
		case b.pins > 0:
			want.Pinned++
		case m.inUse(b):
			want.InUse++
		default:
			if info.Addr != b.addr {
				moved++
			}
			b.addr = info.Addr
			continue
		}
		require.Equal(t, b.addr, info.Addr, "a block that may not move has")
	}
	return want, moved
}

// check compares all bytes, unless work on them is queued.
func (m *relocationModel) check(t *rapid.T) {
	stats := m.m.Statistics()
	require.NoError(t, stats.Check())
	require.EqualValues(t, len(m.blocks), stats.LiveBlocks.Current)
	requested := 0
	for h, b := range m.blocks {
		requested += len(b.content)
		if !m.inUse(b) {
			require.True(t, bytes.Equal(b.content, m.bytes(t, h)), "the bytes of block %#x", uint64(h))
		}
	}
	require.EqualValues(t, requested, stats.Requested.Current)
}

func (m *relocationModel) letGo(t *rapid.T) {
	m.held.Release()
	m.holds, m.queued = false, false
	require.NoError(t, m.factory.SynchronizeStream(m.stream, device.Forever))
}

func TestRandomProgramsWithDefragmentations(t *testing.T) {
	overBoth(t, func(t *testing.T, small pool.Config) {
		rapid.Check(t, func(t *rapid.T) {
			r := newRig(t, devicetest.Config{Backed: true, PageMinimumBytes: 64 * kib, PageRecommendedBytes: 64 * kib})
			m := &relocationModel{rig: r, blocks: map[MemoryHandle]*movable{}}
			m.m = r.manager(t, func(c *Config) { c.PoolConfigs[General] = small })
			m.stream, m.held = r.heldStream(t)
			m.letGo(t)
			t.Repeat(map[string]func(*rapid.T){
				"allocate": m.allocate, "allocate more": m.allocate, "free": m.free, "use": m.use,
				"pin": m.pin, "unpin": m.unpin, "defragment": m.defragment,
				"defragment some": m.defragmentSome, "go on": m.defragmentSome,
				"hold": func(*rapid.T) { m.held.Hold(); m.holds = true }, "let go": m.letGo,
				"": m.check,
			})
			m.letGo(t)
			m.check(t)
			m.packAll(t)
			r.finish(t)
		})
	})
}

// packAll leaves only blocks that may move, with a free page beside them. It compares
// the memory held after a defragmentation with the memory needed if the blocks could be
// packed without gaps. The bound: blocks of up to 3/16 of a piece can add as much to
// the cost of each of two neighbours. So two candidates that do not fit into one piece
// fill it to at least 1 - 4*3/16, and each to half of that.
func (m *relocationModel) packAll(t *rapid.T) {
	spare := m.m.mustAlloc(t, 64*kib)
	sum := uint64(0)
	for h, b := range m.blocks {
		for ; b.pins > 0; b.pins-- {
			require.NoError(t, m.factory.Unpin(h))
		}
		if !b.relocatable || len(b.content) > 3*4*kib {
			require.NoError(t, m.factory.Free(h))
			delete(m.blocks, h)
			continue
		}
		sum += (uint64(len(b.content)) + 1023) &^ 1023
	}
	require.NoError(t, m.factory.Free(spare))
	for range 2 {
		_, err := m.m.Defragment()
		require.NoError(t, err)
	}
	m.check(t)
	pieces := m.m.Statistics().Reserved.Current / (64 * kib)
	least := (sum + 64*kib - 1) / (64 * kib)
	require.LessOrEqual(t, pieces, least*8+1)
}
