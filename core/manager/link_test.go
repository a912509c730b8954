package manager

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// pair is two devices of one driver with a manager each.
type pair struct {
	first, second *rig
	a, b          *Manager
}

func newPair(t require.TestingT, c devicetest.Config) *pair {
	c.Devices = 2
	driver := devicetest.New(c)
	factory := NewFactory()
	open := func(index int) *rig {
		dev, err := driver.Open(index)
		require.NoError(t, err)
		return rigOn(dev.(*devicetest.Device), factory)
	}
	p := &pair{first: open(0), second: open(1)}
	p.a, p.b = p.first.manager(t, nil), p.second.manager(t, nil)
	return p
}

func cleanPair(t *testing.T) *pair {
	p := newPair(t, pinning(8<<20))
	t.Cleanup(func() { p.finish(t) })
	return p
}

func (p *pair) finish(t require.TestingT) {
	p.second.dev.Default().Release()
	p.first.finish(t)
	p.second.finish(t)
	require.Zero(t, p.first.dev.Segments()+p.second.dev.Segments())
}

func (p *pair) link(size uint64) (MemoryHandle, MemoryHandle, error) {
	return p.first.factory.CreateMapping(p.a, p.b, LinkRequest{SizeBytes: size, Tag: "both"})
}

func (p *pair) mustLink(t require.TestingT, size uint64) (MemoryHandle, MemoryHandle) {
	first, second, err := p.link(size)
	require.NoError(t, err)
	return first, second
}

func TestLinkedBlocksAreOneMemory(t *testing.T) {
	p := cleanPair(t)
	f := p.first.factory
	first, second := p.mustLink(t, 100)
	content := counting(100)
	p.first.write(t, first, content)
	require.Equal(t, content, p.second.bytes(t, second))
	require.NoError(t, f.Write(second, 50, p.second.dev.HostBuffer([]byte{1, 2, 3}), 3))
	require.Equal(t, []byte{1, 2, 3}, p.first.bytes(t, first)[50:53])

	a, err := f.HandleInfo(first)
	require.NoError(t, err)
	b, err := f.HandleInfo(second)
	require.NoError(t, err)
	require.Equal(t, second, a.Linked)
	require.Equal(t, first, b.Linked)
	require.Equal(t, Mapped, b.Type)
	require.Equal(t, "both", b.Tag)
	require.Equal(t, p.second.engine.ID(), b.Device)
	require.NotZero(t, a.HostAddr)
	require.Equal(t, a.HostAddr, b.HostAddr)
	require.EqualValues(t, 1, p.a.Statistics().LiveBlocks.Current)
	require.Zero(t, p.b.Statistics().LiveBlocks.Current, "the memory is the first manager's")
	require.EqualValues(t, 1, p.b.LiveByType()[Mapped])

	// A copy between the two blocks is a move within one memory.
	before := p.first.bytes(t, first)
	require.NoError(t, f.Copy(Transfer{Src: first, Dst: second, SizeBytes: 60, DstOffsetBytes: 20}))
	copy(before[20:], append([]byte{}, before[:60]...))
	require.Equal(t, before, p.first.bytes(t, first))
	require.NoError(t, f.Free(first))
	require.NoError(t, f.Free(second))
}

// The memory is freed with the second of the two handles, in either order.
func TestLinkedMemoryIsFreedWithBothBlocks(t *testing.T) {
	for name, order := range map[string][2]int{"first": {0, 1}, "second": {1, 0}} {
		t.Run(name+" goes first", func(t *testing.T) {
			p := cleanPair(t)
			f := p.first.factory
			var both [2]MemoryHandle
			both[0], both[1] = p.mustLink(t, 100)
			devices := [2]*rig{p.first, p.second}
			require.NoError(t, f.Free(both[order[0]]))
			requireError(t, f.Free(both[order[0]]), device.CodeInvalidHandle)
			devices[order[1]].write(t, both[order[1]], counting(100))
			require.Equal(t, counting(100), devices[order[1]].bytes(t, both[order[1]]))
			require.EqualValues(t, 1, p.a.Statistics().LiveBlocks.Current)
			info, err := f.HandleInfo(both[order[1]])
			require.NoError(t, err)
			require.Zero(t, info.Linked)
			requireError(t, p.a.Close(false), device.CodeBusy)
			require.NoError(t, f.Free(both[order[1]]))
			require.Zero(t, p.a.Statistics().LiveBlocks.Current)
			require.NoError(t, p.a.Close(false))
			require.NoError(t, p.b.Close(false))
			require.Zero(t, p.first.dev.PinnedBytes())
			require.Zero(t, p.second.dev.Segments())
		})
	}
}

// Work that is queued on a block keeps the memory after that block was freed first, and
// so does the other block.
func TestLinkedMemoryOutlivesQueuedWork(t *testing.T) {
	p := cleanPair(t)
	f := p.first.factory
	first, second := p.mustLink(t, 64)
	s, held := p.second.heldStream(t)
	require.NoError(t, f.FillAsync(Fill{Memory: second, SizeBytes: 64,
		Pattern: device.Pattern{Value: 9, WidthBytes: 1}}, s))
	require.NoError(t, f.Free(second))
	require.NoError(t, f.Free(first))
	require.Positive(t, p.a.Statistics().Active.Current, "in flight")
	again, there := p.mustLink(t, 64)
	held.Release()
	require.NoError(t, f.Free(again))
	require.NoError(t, f.Free(there))
	last, lastThere := p.mustLink(t, 64)
	require.LessOrEqual(t, p.second.dev.Segments(), 1, "memory of earlier links was released")
	require.NoError(t, f.Free(last))
	require.NoError(t, f.Free(lastThere))
}

func TestForcedCloseOfLinkedManagers(t *testing.T) {
	p := cleanPair(t)
	f := p.first.factory
	first, second := p.mustLink(t, 64)
	requireError(t, p.b.Close(false), device.CodeBusy)
	require.NoError(t, p.b.Close(true))
	requireError(t, f.Unpin(second), device.CodeInvalidHandle)
	p.first.write(t, first, counting(64))
	require.NoError(t, f.Free(first))

	p.b = p.second.manager(t, nil)
	first, second = p.mustLink(t, 64)
	left, right := p.mustLink(t, 64)
	require.NoError(t, f.Free(left))
	requireError(t, p.a.Close(false), device.CodeBusy, "1 block of other managers linked")
	require.NoError(t, p.a.Close(true))
	for _, h := range []MemoryHandle{first, second, right} {
		_, err := f.HandleInfo(h)
		requireError(t, err, device.CodeInvalidHandle)
	}
	require.Zero(t, p.b.LiveByType()[Mapped])
	require.NoError(t, p.b.Close(false))
}

// The second device can be closed while the memory is live.
func TestSecondDeviceClosesBeforeTheFirstBlock(t *testing.T) {
	p := cleanPair(t)
	f := p.first.factory
	first, second := p.mustLink(t, 64)
	s, held := p.second.heldStream(t)
	require.NoError(t, f.FillAsync(Fill{Memory: second, SizeBytes: 64,
		Pattern: device.Pattern{Value: 9, WidthBytes: 1}}, s))
	require.NoError(t, f.Free(second))
	require.Equal(t, 1, p.second.dev.Segments(), "work is queued on it")
	held.Release()
	require.NoError(t, p.b.Close(false))
	require.NoError(t, f.DestroyStream(s, false))
	_, err := f.CloseDevice(p.second.engine, false)
	require.NoError(t, err)
	require.Zero(t, p.second.dev.Segments())
	require.Equal(t, byte(9), p.first.bytes(t, first)[63])
	require.NoError(t, f.Free(first))
	p.b = p.second.manager(t, nil)
}

func TestLinkRefusesBadInput(t *testing.T) {
	p := cleanPair(t)
	f := p.first.factory
	other := p.first.manager(t, nil)
	_, _, err := f.CreateMapping(p.a, other, LinkRequest{SizeBytes: 1})
	requireError(t, err, device.CodeInvalidArgument, "test:0")
	for code, r := range map[device.Code]LinkRequest{
		device.CodeInvalidSize:       {},
		device.CodeInvalidAlignment:  {SizeBytes: 1, AlignmentBytes: 3},
		device.CodeInvalidArgument:   {SizeBytes: 1, Tag: string(make([]byte, TagMax+1))},
		device.CodeOutOfMemory:       {SizeBytes: 1 << 62},
		device.CodeResourceExhausted: {SizeBytes: 16 << 20},
	} {
		_, _, err := f.CreateMapping(p.a, p.b, r)
		requireError(t, err, code)
	}
	require.NoError(t, other.Close(false))
	_, _, err = f.CreateMapping(p.a, other, LinkRequest{SizeBytes: 1})
	requireError(t, err, device.CodeInvalidArgument)
	require.NoError(t, p.b.Close(false))
	_, _, err = p.link(1)
	requireError(t, err, device.CodeInvalidHandle)
	require.Zero(t, p.a.Statistics().LiveBlocks.Current)

	lonely := newPair(t, devicetest.Config{Backed: true, PinnedBytes: 1 << 20, NoLinks: true})
	defer lonely.finish(t)
	_, _, err = lonely.link(1)
	requireError(t, err, device.CodeUnsupported, "test:1", "test:0")
	bare := newPair(t, devicetest.Config{Backed: true})
	defer bare.finish(t)
	_, _, err = bare.link(1)
	requireError(t, err, device.CodeUnsupported, "mapped", "test:0")
}

// Whichever call of either driver fails, nothing is left and the counters are as
// before.
func TestALinkThatFailsLeavesNothing(t *testing.T) {
	for side := range 2 {
		for n := 1; ; n++ {
			p := newPair(t, pinning(8<<20))
			f := p.first.factory
			dev := [2]*rig{p.first, p.second}[side].dev
			dev.FailNth(devicetest.Any, n, nil)
			first, second, err := p.link(100)
			if err != nil {
				require.Equal(t, device.CodeDevice, device.CodeOf(err), "%v", err)
				require.Zero(t, p.a.Statistics().LiveBlocks.Current)
				require.Zero(t, p.b.LiveByType()[Mapped])
				first, second = p.mustLink(t, 100)
			}
			for _, h := range []MemoryHandle{first, second} {
				if f.Free(h) != nil {
					require.NoError(t, f.Free(h))
				}
			}
			left := dev.ClearFaults()
			p.finish(t)
			if left > 0 {
				break
			}
		}
	}
}

// The reference model: the live handles, and the bytes of each memory.
func TestLinksAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t, pinning(64<<20))
		f := p.first.factory
		type memory struct {
			handles [2]MemoryHandle
			content []byte
		}
		var live []*memory
		rigs := [2]*rig{p.first, p.second}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if len(live) == 0 || rapid.Bool().Draw(t, "link") {
				size := rapid.IntRange(1, 5000).Draw(t, "size")
				made := &memory{content: make([]byte, size)}
				made.handles[0], made.handles[1] = p.mustLink(t, uint64(size))
				p.first.write(t, made.handles[0], made.content)
				live = append(live, made)
				continue
			}
			at := rapid.IntRange(0, len(live)-1).Draw(t, "which")
			side := rapid.IntRange(0, 1).Draw(t, "side")
			m := live[at]
			h := m.handles[side]
			if rapid.Bool().Draw(t, "free") {
				if err := f.Free(h); h == 0 {
					require.Error(t, err)
				} else {
					require.NoError(t, err)
				}
				if m.handles[side] = 0; m.handles[1-side] == 0 {
					live = append(live[:at], live[at+1:]...)
				}
				continue
			}
			if h != 0 {
				offset := rapid.IntRange(0, len(m.content)-1).Draw(t, "offset")
				m.content[offset]++
				require.NoError(t, f.Write(h, uint64(offset), rigs[side].dev.HostBuffer(m.content[offset:offset+1]), 1))
			}
			for i, h := range m.handles {
				if h != 0 {
					require.Equal(t, m.content, rigs[i].bytes(t, h))
				}
			}
		}
		require.EqualValues(t, len(live), p.a.Statistics().LiveBlocks.Current)
		p.finish(t)
	})
}
