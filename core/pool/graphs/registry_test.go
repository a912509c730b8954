package graphs

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// bench is a registry whose private pools are numbers.
type bench struct {
	Registry[int]
	dev     *devicetest.Device
	paused  []bool
	private int
	refuse  error
}

func newBench() *bench {
	b := &bench{dev: devicetest.Open(devicetest.Config{Capture: true})}
	b.Init("kv", b.dev.Info().ID, func(paused bool) { b.paused = append(b.paused, paused) })
	return b
}

func (b *bench) stream(t *testing.T) *devicetest.Stream {
	t.Helper()
	made, err := b.dev.NewStream()
	require.NoError(t, err)
	return made.(*devicetest.Stream)
}

// begin captures a stream for a graph.
func (b *bench) begin(t *testing.T, s *devicetest.Stream, shared uint64) (*devicetest.Graph, *Graph[int]) {
	t.Helper()
	captured := s.BeginCapture()
	number, err := b.Begin(s, shared, b.newPrivate)
	require.NoError(t, err)
	g, spoilt, err := b.OfStream(s)
	require.NoError(t, err)
	require.False(t, spoilt)
	require.Equal(t, number, g.Number())
	return captured, g
}

func (b *bench) newPrivate(uint64) (int, error) {
	if b.refuse != nil {
		return 0, b.refuse
	}
	b.private++
	return b.private, nil
}

// end ends a capture and its graph's capture.
func (b *bench) end(t *testing.T, captured *devicetest.Graph, g *Graph[int]) {
	t.Helper()
	captured.End()
	private, err := b.End(g.Number())
	require.NoError(t, err)
	require.Equal(t, g.Private(), private)
}

func requireCode(t *testing.T, want device.Code, err error) {
	t.Helper()
	require.Equal(t, want, device.CodeOf(err), "%v", err)
}

func TestGraphFromBeginToRelease(t *testing.T) {
	b := newBench()
	s := b.stream(t)
	require.False(t, b.AnyCapturing() || b.AnyPrivate())
	captured, g := b.begin(t, s, 0)
	require.True(t, b.AnyCapturing() && b.AnyPrivate())
	require.Equal(t, []int{1}, b.Private())
	info, err := b.Info(g.Number())
	require.NoError(t, err)
	require.Equal(t, Info[int]{Private: 1, Capturing: true, Sharing: 1}, info)
	_, err = b.End(g.Number())
	requireCode(t, device.CodeInvalidState, err)
	_, err = b.Release(g.Number(), s)
	requireCode(t, device.CodeInvalidState, err)
	end := g.End()
	done, err := end.Done()
	require.NoError(t, err)
	require.False(t, done)
	requireCode(t, device.CodeTimeout, end.Synchronize(device.Forever))
	require.Equal(t, []device.Event{end}, b.EndsOf(1))
	b.end(t, captured, g)
	require.NoError(t, end.Synchronize(device.Forever))
	require.Empty(t, b.EndsOf(1))
	_, err = b.End(g.Number())
	requireCode(t, device.CodeInvalidState, err)
	r, err := b.Release(g.Number(), s)
	require.NoError(t, err)
	require.True(t, r.Last)
	require.Nil(t, r.End, "nothing is queued")
	require.Empty(t, r.HandOver())
	require.Equal(t, []bool{true, false}, b.paused)
	require.Equal(t, []int{1}, b.Private(), "until it has ended")
	requireCode(t, device.CodeBusy, b.Left())
	b.Forget(1)
	require.Empty(t, b.Private())
	require.False(t, b.AnyPrivate())
	require.NoError(t, b.Left())
	_, err = b.Release(g.Number(), s)
	requireCode(t, device.CodeNotFound, err)
	_, err = b.Info(g.Number())
	requireCode(t, device.CodeNotFound, err)
	_, err = b.End(g.Number())
	requireCode(t, device.CodeNotFound, err)
	require.NoError(t, s.Close())
}

func TestGraphThatCannotBeginLeavesNothing(t *testing.T) {
	b := newBench()
	s, other := b.stream(t), b.stream(t)
	begin := func(s device.Stream, shared uint64) error {
		_, err := b.Begin(s, shared, b.newPrivate)
		return err
	}
	requireCode(t, device.CodeInvalidState, begin(s, 0))
	captured := s.BeginCapture()
	b.refuse = errors.New("no memory")
	require.ErrorIs(t, begin(s, 0), b.refuse)
	require.False(t, b.AnyCapturing() || b.AnyPrivate())
	require.Empty(t, b.paused)
	b.refuse = nil
	requireCode(t, device.CodeNotFound, begin(s, 7))
	require.NoError(t, begin(s, 0))
	requireCode(t, device.CodeAlreadyExists, begin(s, 0))
	second := other.BeginCapture()
	requireCode(t, device.CodeBusy, begin(other, 1))
	second.Spoil()
	requireCode(t, device.CodeInvalidState, begin(other, 0))
	second.End()
	captured.End()
	_, err := b.End(1)
	require.NoError(t, err)
	b.Shut()
	b.Await()
	third := other.BeginCapture()
	requireCode(t, device.CodeInvalidState, begin(other, 1))
	b.Open()
	require.NoError(t, begin(other, 1), "graphs share a private pool")
	info, err := b.Info(2)
	require.NoError(t, err)
	require.EqualValues(t, 2, info.Sharing)
	require.Equal(t, []uint64{1, 2}, b.Numbers())
	third.End()
	for number := range uint64(2) {
		r, err := b.Release(number+1, s)
		require.NoError(t, err)
		require.Equal(t, number == 1, r.Last)
	}
	require.Equal(t, []bool{true, false, true, false}, b.paused)
}

// No capture begins while do of WhileNone runs, and do does not run while a graph is
// left.
func TestNoCaptureBeginsDuringWhileNone(t *testing.T) {
	b := newBench()
	s := b.stream(t)
	began := make(chan error)
	require.NoError(t, b.WhileNone(func() error {
		s.BeginCapture()
		device.Go("begin", func() {
			_, err := b.Begin(s, 0, b.newPrivate)
			began <- err
		})
		b.Shut()
		return nil
	}))
	requireCode(t, device.CodeInvalidState, <-began)
	b.Open()
	_, err := b.Begin(s, 0, b.newPrivate)
	require.NoError(t, err)
	requireCode(t, device.CodeBusy, b.WhileNone(func() error { panic("a graph is left") }))
}

// A stream that took part in an invalidated capture is found by its branch.
func TestInvalidatedCapturesAreFoundByTheirStreams(t *testing.T) {
	b := newBench()
	s, forked, stranger := b.stream(t), b.stream(t), b.stream(t)
	captured, g := b.begin(t, s, 0)
	branch := g.BranchOf(forked)
	require.Same(t, branch, g.BranchOf(forked))
	require.Same(t, g, branch.Graph())
	idle, err := branch.Idle()
	require.NoError(t, err)
	require.False(t, idle || branch.HasEnded())
	event, err := branch.RecordEvent()
	require.NoError(t, err)
	require.Equal(t, g.End(), event)
	captured.Spoil()
	found, spoilt, err := b.OfStream(s)
	require.NoError(t, err)
	require.True(t, spoilt)
	require.Same(t, g, found)
	lost := stranger.BeginCapture()
	lost.Spoil()
	found, _, err = b.OfStream(stranger)
	require.NoError(t, err)
	require.Nil(t, found, "a capture that began in another process is not found")
	require.NoError(t, func() error { lost.End(); return stranger.Close() }())
	found, _, err = b.OfStream(stranger)
	require.NoError(t, err, "a closed stream does not capture")
	require.Nil(t, found)
	captured.End()
	r, err := b.Release(g.Number(), s)
	require.NoError(t, err, "an invalidated capture need not be ended first")
	require.True(t, r.Last)
	require.True(t, branch.HasEnded())
}

// TestReleaseThatFailsChangesNothing makes every call of a release fail once.
func TestReleaseThatFailsChangesNothing(t *testing.T) {
	for _, call := range []devicetest.Call{devicetest.RecordEvent, devicetest.StreamIdle} {
		for nth := 1; ; nth++ {
			b := newBench()
			s, one, two := b.stream(t), b.stream(t), b.stream(t)
			captured, g := b.begin(t, s, 0)
			parked := &Parked[int]{
				Owner: 9, Addrs: []device.Addr{4096}, Bytes: 64, Graphs: []*Graph[int]{g}, Streams: []device.Stream{one, two, s},
			}
			require.True(t, parked.Park())
			b.end(t, captured, g)
			for _, busy := range []*devicetest.Stream{s, one, two} {
				busy.Hold()
				require.NoError(t, busy.HostFunction(func() {}))
			}
			b.dev.FailNth(call, nth, nil)
			r, err := b.Release(g.Number(), s)
			if err == nil {
				require.Equal(t, 1, b.dev.ClearFaults())
				unused := r.HandOver()
				require.Equal(t, []*Parked[int]{parked}, unused)
				require.Len(t, parked.Events, 3, "an end for each stream, its own once")
				require.NotNil(t, r.End)
				require.NoError(t, r.End.Close())
				for _, event := range parked.Events {
					require.NoError(t, event.Close())
				}
				require.Zero(t, b.dev.OpenEvents())
				break
			}
			require.Zero(t, b.dev.OpenEvents())
			info, err := b.Info(g.Number())
			require.NoError(t, err)
			require.EqualValues(t, 64, info.ParkedBytes)
			require.True(t, (&Parked[int]{Graphs: []*Graph[int]{g}}).Park(), "a graph that is not released keeps the block parked")
		}
	}
}

// TestParkedBlocksLeaveWithTheirLastGraph releases graphs in any order: blocks leave
// once, with the last graph that uses them.
func TestParkedBlocksLeaveWithTheirLastGraph(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 3))
		b := newBench()
		s := b.stream(t)
		var all []*Graph[int]
		for range 4 {
			captured, g := b.begin(t, s, 0)
			b.end(t, captured, g)
			all = append(all, g)
		}
		uses := map[*Parked[int]][]*Graph[int]{}
		out := map[*Parked[int]]bool{}
		released := map[*Graph[int]]bool{}
		for len(released) < len(all) {
			if random.IntN(2) == 0 {
				parked := &Parked[int]{Bytes: 1}
				for _, at := range random.Perm(len(all))[:1+random.IntN(len(all))] {
					parked.Graphs = append(parked.Graphs, all[at])
				}
				mine := slices.Clone(parked.Graphs)
				left := slices.ContainsFunc(mine, func(g *Graph[int]) bool { return !released[g] })
				require.Equal(t, left, parked.Park())
				if left {
					uses[parked] = mine
				}
				continue
			}
			g := all[random.IntN(len(all))]
			if released[g] {
				continue
			}
			r, err := b.Release(g.Number(), s)
			require.NoError(t, err)
			released[g] = true
			for _, parked := range r.HandOver() {
				require.False(t, out[parked])
				out[parked] = true
			}
			for parked, graphs := range uses {
				left := slices.ContainsFunc(graphs, func(g *Graph[int]) bool { return !released[g] })
				require.Equal(t, !left, out[parked], "seed %d", seed)
			}
		}
	}
}
