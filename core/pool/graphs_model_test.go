package pool

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// graphModel is the reference model of a pool and its graphs: who owns each range, and
// until when no one else may get it.
type graphModel struct {
	*graphBench
	streams []*devicetest.Stream
	graphs  []*modelGraph
	live    []*modelBlock
	// dead blocks were freed, the last one first.
	dead []*modelBlock
}

type modelGraph struct {
	number   uint64
	captured *devicetest.Graph
	stream   *devicetest.Stream
	members  []*devicetest.Stream
	over     bool
	spoilt   bool
	released bool
	// private is shared by graphs that have one private pool.
	private *modelPrivate
}

// modelPrivate is a private pool.
type modelPrivate struct {
	graphs, live int
	last         []*modelMark
}

// gone reports whether the private pool may have been released.
func (p *modelPrivate) gone() bool {
	return p.graphs == 0 && p.live == 0 && allPassed(p.last)
}

// modelMark is a point in a stream's queue.
type modelMark struct {
	recorded
	stream *devicetest.Stream
}

func allPassed(marks []*modelMark) bool {
	return !slices.ContainsFunc(marks, func(m *modelMark) bool { return !m.passed })
}

// modelUse is a stream of a capture that uses a block.
type modelUse struct {
	graph  *modelGraph
	stream *devicetest.Stream
}

type modelBlock struct {
	Block
	private *modelPrivate
	// of is the stream that requested the block, and ofBy the graph that captured it
	// then.
	of   *devicetest.Stream
	ofBy *modelGraph
	// named are the streams of RecordStream, and namedBy the graphs that captured them
	// then.
	named   []*devicetest.Stream
	namedBy []modelUse

	// For a dead block: the stream and the capture of its free, and the other ends that
	// have to complete. parked are graphs that use it although it is not in their private
	// pool.
	stream  *devicetest.Stream
	capture *modelGraph
	ends    []*modelGraph
	parked  []*modelGraph
	marks   []*modelMark
}

// capturing returns the graph for which a stream is captured, or nil.
func (m *graphModel) capturing(s *devicetest.Stream) *modelGraph {
	for _, g := range m.graphs {
		if !g.over && slices.Contains(g.members, s) {
			return g
		}
	}
	return nil
}

// mark returns a mark that is passed when the work queued now has completed.
func (m *graphModel) mark(t *rapid.T, s *devicetest.Stream) *modelMark {
	made := &modelMark{stream: s}
	require.NoError(t, s.HostFunction(func() { made.passed = true }))
	return made
}

// mayHave checks that an allocation for a stream may overlap a dead block.
func (m *graphModel) mayHave(t *rapid.T, dead *modelBlock, s *devicetest.Stream, g *modelGraph) {
	for _, by := range dead.parked {
		require.True(t, by.released, "graph %d was not released and uses %+v", by.number, dead.Block)
	}
	if dead.private != nil && (g == nil || g.private != dead.private) {
		require.True(t, dead.private.gone(), "%+v is a private pool's", dead.Block)
	}
	ends := slices.Clone(dead.ends)
	if dead.capture != nil && (g != dead.capture || s != dead.stream) {
		ends = append(ends, dead.capture)
	}
	for _, end := range ends {
		require.True(t, end.over, "graph %d is being captured and uses %+v", end.number, dead.Block)
	}
	for _, made := range dead.marks {
		if !made.passed {
			require.Nil(t, g, "%+v: work outside of the graph uses it", dead.Block)
			require.Nil(t, dead.private)
			require.True(t, made.stream == s, "%+v: queued work of another stream uses it", dead.Block)
		}
	}
}

func (m *graphModel) enter(t *rapid.T, got Block, s *devicetest.Stream) {
	g := m.capturing(s)
	for _, other := range m.live {
		require.False(t, overlap(got, other.Block), "%+v overlaps live %+v", got, other.Block)
	}
	m.dead = slices.DeleteFunc(m.dead, func(dead *modelBlock) bool {
		if !overlap(got, dead.Block) {
			return false
		}
		m.mayHave(t, dead, s, g)
		return true
	})
	made := &modelBlock{Block: got, of: s, ofBy: g}
	if g != nil {
		made.private = g.private
		g.private.live++
	}
	m.live = append(m.live, made)
}

func (m *graphModel) anyStream(t *rapid.T) *devicetest.Stream {
	return rapid.SampledFrom(m.streams).Draw(t, "stream")
}

func (m *graphModel) anyGraph(t *rapid.T, over bool) *modelGraph {
	var fit []*modelGraph
	for _, g := range m.graphs {
		if g.over == over && !g.released {
			fit = append(fit, g)
		}
	}
	if len(fit) == 0 {
		t.Skip("no such graph")
	}
	return rapid.SampledFrom(fit).Draw(t, "graph")
}

func (m *graphModel) allocate(t *rapid.T) {
	s := m.anyStream(t)
	if len(m.live) > 40 {
		t.Skip("enough is live")
	}
	size := rapid.SampledFrom([]uint64{1, kib, 64 * kib, 200 * kib}).Draw(t, "size")
	if g := m.capturing(s); g != nil && g.spoilt {
		if g.stream != s {
			t.Skip("whether the pool has seen this stream is its own affair")
		}
		_, err := m.pool.Alloc(Request{SizeBytes: size, Stream: s})
		require.ErrorIs(t, err, device.CodeInvalidState)
		return
	}
	if rapid.Bool().Draw(t, "batch") {
		to := make([]device.Addr, 2)
		require.NoError(t, m.pool.AllocBatch(Request{SizeBytes: size, Stream: s}, to))
		for _, addr := range to {
			block, found := m.pool.Lookup(addr)
			require.True(t, found)
			m.enter(t, block, s)
		}
		return
	}
	block, err := m.pool.Alloc(Request{SizeBytes: size, Stream: s})
	require.NoError(t, err)
	m.enter(t, block, s)
}

func (m *graphModel) anyLive(t *rapid.T) *modelBlock {
	if len(m.live) == 0 {
		t.Skip("nothing is live")
	}
	return rapid.SampledFrom(m.live).Draw(t, "block")
}

func (m *graphModel) giveBack(t *rapid.T) {
	block, s := m.anyLive(t), m.anyStream(t)
	g := m.capturing(s)
	if g != nil && g.spoilt {
		t.Skip("whether the pool has seen this stream is its own affair")
	}
	users := slices.Clone(block.named)
	if block.ofBy == nil || block.ofBy.over {
		users = append(users, block.of)
	}
	if slices.ContainsFunc(users, func(s *devicetest.Stream) bool { g := m.capturing(s); return g != nil && g.spoilt }) {
		t.Skip("so it is with a stream that uses the block")
	}
	use := func(by *modelGraph) {
		if by.private == block.private {
			block.ends = append(block.ends, by)
		} else if !by.released {
			block.parked = append(block.parked, by)
		}
	}
	block.stream = s
	switch {
	case g != nil && g.private == block.private:
		block.capture = g
	case g != nil:
		use(g)
	default:
		block.marks = append(block.marks, m.mark(t, s))
		for _, other := range m.graphs {
			if block.private != nil && other.private == block.private && !other.over {
				block.ends = append(block.ends, other)
			}
		}
	}
	captures := slices.Clone(block.namedBy)
	if block.ofBy != nil && !block.ofBy.over {
		captures = append(captures, modelUse{block.ofBy, block.of})
	}
	for _, by := range captures {
		if by != (modelUse{block.capture, s}) {
			use(by.graph)
		}
	}
	for _, other := range users {
		if other == s {
			continue
		}
		if by := m.capturing(other); by != nil {
			use(by)
		} else {
			block.marks = append(block.marks, m.mark(t, other))
		}
	}
	require.NoError(t, m.pool.Free(block.Addr, s))
	if block.private != nil {
		block.private.live--
		block.private.last = append(block.private.last, block.marks...)
	}
	m.live = slices.DeleteFunc(m.live, func(b *modelBlock) bool { return b == block })
	m.dead = append(m.dead, block)
}

func (m *graphModel) record(t *rapid.T) {
	block, s := m.anyLive(t), m.anyStream(t)
	if g := m.capturing(s); g != nil {
		if g.spoilt {
			t.Skip("spoilt")
		}
		block.namedBy = append(block.namedBy, modelUse{g, s})
	} else {
		block.named = append(block.named, s)
	}
	require.NoError(t, m.pool.RecordStream(block.Addr, s))
}

func (m *graphModel) beginCapture(t *rapid.T) {
	s := m.anyStream(t)
	if m.capturing(s) != nil || len(m.graphs) > 12 {
		t.Skip("captures already")
	}
	g := &modelGraph{stream: s, members: []*devicetest.Stream{s}, private: &modelPrivate{}}
	shared := uint64(0)
	if rapid.Bool().Draw(t, "shared") {
		other := m.anyGraph(t, rapid.Bool().Draw(t, "over"))
		g.private, shared = other.private, other.number
		if slices.ContainsFunc(m.graphs, func(g *modelGraph) bool { return g.private == other.private && !g.over }) {
			captured := s.BeginCapture()
			_, err := m.pool.CaptureBegin(s, shared)
			require.ErrorIs(t, err, device.CodeBusy)
			captured.End()
			return
		}
	}
	g.captured, g.number = m.graphBench.begin(t, s, shared)
	g.private.graphs++
	m.graphs = append(m.graphs, g)
}

func (m *graphModel) fork(t *rapid.T) {
	g, s := m.anyGraph(t, false), m.anyStream(t)
	if m.capturing(s) != nil || g.spoilt {
		t.Skip("captures already, or cannot")
	}
	event, err := g.stream.RecordEvent()
	require.NoError(t, err)
	require.NoError(t, s.WaitEvent(event))
	require.NoError(t, event.Close())
	g.members = append(g.members, s)
}

func (m *graphModel) endCapture(t *rapid.T) {
	g := m.anyGraph(t, false)
	require.ErrorIs(t, m.pool.CaptureEnd(g.number), device.CodeInvalidState)
	require.Equal(t, !g.spoilt, g.captured.End())
	g.over = true
	require.NoError(t, m.pool.CaptureEnd(g.number))
}

func (m *graphModel) release(t *rapid.T) {
	g, s := m.anyGraph(t, true), m.anyStream(t)
	if m.capturing(s) != nil {
		t.Skip("the stream captures")
	}
	made := m.mark(t, s)
	if err := m.pool.CaptureRelease(g.number, s); err != nil {
		// A stream whose earlier work uses a parked block captures again.
		require.ErrorIs(t, err, device.CodeInvalidState)
		require.Contains(t, err.Error(), "release the graph after that")
		return
	}
	g.released = true
	g.private.graphs--
	g.private.last = append(g.private.last, made)
	for _, dead := range m.dead {
		if slices.Contains(dead.parked, g) {
			dead.marks = append(dead.marks, made)
		}
	}
}

func (m *graphModel) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"alloc": m.allocate, "alloc2": m.allocate, "alloc3": m.allocate, "free": m.giveBack, "free2": m.giveBack, "record": m.record,
		"begin": m.beginCapture, "fork": m.fork, "end": m.endCapture, "release": m.release,
		"spoil": func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
				t.Skip("not now")
			}
			g := m.anyGraph(t, false)
			g.captured.Spoil()
			g.spoilt = true
		},
		"step": func(t *rapid.T) { m.anyStream(t).Step(rapid.IntRange(1, 4).Draw(t, "pieces")) },
		"trim": func(t *rapid.T) {
			_, err := m.pool.Trim(0)
			require.NoError(t, err)
		},
		"": func(t *rapid.T) {
			require.Zero(t, m.dev.Forbidden())
			m.check(t, append(m.pool.PrivatePools(), m.pool)...)
		},
	}
}

// No two owners have the same memory, and no allocation gets memory that a graph uses
// before the graph is released and its last run has completed.
func TestMemoryOfAGraphIsNotAllocatedAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &graphModel{graphBench: newGraphBench(t, nil)}
		m.streams = []*devicetest.Stream{m.first, m.second, m.stream(t)}
		for _, s := range m.streams {
			s.Hold()
		}
		t.Repeat(m.actions())
		for _, s := range m.streams {
			s.Release()
		}
		for _, g := range m.graphs {
			if !g.over {
				g.captured.End()
			}
		}
		for _, g := range m.graphs {
			if !g.released {
				require.NoError(t, m.pool.CaptureRelease(g.number, nil))
			}
		}
		for _, block := range m.live {
			require.NoError(t, m.pool.Free(block.Addr, nil))
		}
		m.pool.CompleteFrees()
		require.Empty(t, m.pool.PrivatePools())
		require.NoError(t, m.streams[2].Close())
		m.graphBench.end(t)
	})
}
