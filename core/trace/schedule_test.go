package trace

import (
	"fmt"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// The reference model lists every token of every request, one by one, sorts them all, and
// never uses the formulas of the schedule.

type naiveEvent struct {
	timeNS  int64
	end     bool
	request int
	blocks  uint64 // added
}

func naivePaged(requests []Request) []naiveEvent {
	var events []naiveEvent
	for i, r := range requests {
		have := uint64(0)
		for have*BlockTokens < uint64(r.InputTokens) {
			have++
		}
		events = append(events, naiveEvent{timeNS: r.ArrivalNS, request: i, blocks: have})
		now := r.ArrivalNS + 200_000*int64(r.InputTokens)
		for token := uint64(1); token <= uint64(r.OutputTokens); token++ {
			now += 30_000_000
			if token < uint64(r.OutputTokens) && uint64(r.InputTokens)+token > have*BlockTokens {
				have++
				events = append(events, naiveEvent{timeNS: now, request: i, blocks: 1})
			}
		}
		events = append(events, naiveEvent{timeNS: now, end: true, request: i})
	}
	sortNaive(events)
	return events
}

func sortNaive(events []naiveEvent) {
	sort.SliceStable(events, func(a, b int) bool {
		x, y := events[a], events[b]
		if x.timeNS != y.timeNS {
			return x.timeNS < y.timeNS
		}
		if x.end != y.end {
			return x.end
		}
		return x.request < y.request
	})
}

func drain(s *Schedule) []Step {
	var steps []Step
	for step, ok := s.Next(); ok; step, ok = s.Next() {
		steps = append(steps, step)
	}
	return steps
}

func simplify(steps []Step) []naiveEvent {
	var events []naiveEvent
	for _, s := range steps {
		events = append(events, naiveEvent{timeNS: s.TimeNS, end: s.Kind == End, request: s.Request, blocks: s.Blocks})
	}
	return events
}

// drawRequests draws requests whose times often coincide.
func drawRequests(t *rapid.T) *Trace {
	tr := &Trace{Name: "drawn", Kind: Mooncake}
	arrival := int64(0)
	for range rapid.IntRange(1, 12).Draw(t, "requests") {
		arrival += rapid.Int64Range(0, 3).Draw(t, "gap") * 10_000_000
		tr.Requests = append(tr.Requests, Request{
			ArrivalNS:    arrival,
			InputTokens:  uint32(rapid.IntRange(0, 8).Draw(t, "input") * 25),
			OutputTokens: uint32(rapid.IntRange(1, 50).Draw(t, "output")),
		})
	}
	return tr
}

// requireEnds compares the ends that EndNS states with those of the steps.
func requireEnds(t require.TestingT, s *Schedule, steps []Step) {
	for _, step := range steps {
		if step.Kind == End {
			require.Equal(t, step.TimeNS, s.EndNS(step.Request))
		}
	}
}

func TestPagedAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawRequests(t)
		s, err := NewSchedule(tr, Rules{Mode: Paged, BytesPerToken: 100})
		require.NoError(t, err)
		steps := drain(s)
		require.Equal(t, naivePaged(tr.Requests), simplify(steps))
		held := map[int]uint64{}
		for _, step := range steps {
			if step.Kind == End {
				continue
			}
			require.Equal(t, uint64(1600), step.BlockBytes)
			require.Equal(t, held[step.Request], step.FirstBlock, "blocks are numbered on")
			held[step.Request] += step.Blocks
		}
		requireEnds(t, s, steps)
		s.Restart()
		require.Equal(t, steps, drain(s), "a restart gives the same sequence")
	})
}

func TestContiguousAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawRequests(t)
		var want []naiveEvent
		for i, r := range tr.Requests {
			end := r.ArrivalNS + int64(r.InputTokens)*200_000 + int64(r.OutputTokens)*30_000_000
			want = append(want, naiveEvent{timeNS: r.ArrivalNS, request: i, blocks: 1}, naiveEvent{timeNS: end, end: true, request: i})
		}
		sortNaive(want)
		s, err := NewSchedule(tr, Rules{})
		require.NoError(t, err)
		steps := drain(s)
		require.Equal(t, want, simplify(steps))
		requireEnds(t, s, steps)
		for _, step := range steps {
			if step.Kind == Arrive {
				r := tr.Requests[step.Request]
				require.Equal(t, (uint64(r.InputTokens)+uint64(r.OutputTokens))*131072, step.BlockBytes)
			}
		}
	})
}

func TestLifetimesEndBeforeAllocations(t *testing.T) {
	tr, err := read(lifetimeHeader + "a,0,5,1\nb,5,9,100\nc,2,5,7\n")
	require.NoError(t, err)
	s, err := NewSchedule(tr, Rules{})
	require.NoError(t, err)
	assert.Equal(t, Lifetimes, s.Rules().Mode)
	steps := drain(s)
	requireEnds(t, s, steps)
	assert.Equal(t, []Step{
		{TimeNS: 0, Kind: Arrive, Request: 0, Blocks: 1, BlockBytes: 1},
		{TimeNS: 2, Kind: Arrive, Request: 1, Blocks: 1, BlockBytes: 7},
		{TimeNS: 5, Kind: End, Request: 0},
		{TimeNS: 5, Kind: End, Request: 1},
		{TimeNS: 5, Kind: Arrive, Request: 2, Blocks: 1, BlockBytes: 100},
		{TimeNS: 9, Kind: End, Request: 2},
	}, steps)
	assert.Equal(t, 4, s.Line(1), "the line of the file, not the place in time")
}

func TestRequestWithoutTokensHasNoBlock(t *testing.T) {
	tr := &Trace{Kind: Mooncake, Requests: []Request{{}, {OutputTokens: 1}}}
	for _, mode := range []Mode{Contiguous, Paged} {
		s, err := NewSchedule(tr, Rules{Mode: mode})
		require.NoError(t, err)
		steps := drain(s)
		require.Len(t, steps, 4)
		assert.Zero(t, steps[0].Blocks)
		assert.Equal(t, Step{Kind: End}, steps[1])
	}
}

func TestDropEndsARequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawRequests(t)
		s, err := NewSchedule(tr, Rules{Mode: Paged})
		require.NoError(t, err)
		dropped := map[int]bool{}
		ended := map[int]bool{}
		for step, ok := s.Next(); ok; step, ok = s.Next() {
			require.False(t, dropped[step.Request], "a step of a dropped request")
			if step.Kind == End {
				ended[step.Request] = true
			} else if rapid.Bool().Draw(t, "drop") {
				s.Drop(step.Request)
				dropped[step.Request] = true
			}
		}
		require.Equal(t, tr.Len(), len(dropped)+len(ended))
		require.Empty(t, s.dropped, "no step of a dropped request is stored")
	})
}

// A block is shared exactly if all its tokens are input with a prefix id.
func TestShared(t *testing.T) {
	tr, err := read(`{"timestamp":0,"input_length":1050,"output_length":40,"hash_ids":[7,8,9]}` + "\n" +
		`{"timestamp":1,"input_length":1024,"output_length":40,"hash_ids":[7]}`)
	require.NoError(t, err)
	s, err := NewSchedule(tr, Rules{Mode: Paged})
	require.NoError(t, err)
	for block := range uint64(100) {
		key, ok := s.Shared(0, block)
		last := (block + 1) * 16 // the token after the last one of the block
		require.Equal(t, last <= 1050, ok, "block %d", block)
		if ok {
			require.Equal(t, ShareKey{PrefixID: 7 + (last-1)/512, Part: uint32(block % 32)}, key)
		}
		_, ok = s.Shared(1, block)
		require.Equal(t, last <= 512, ok, "only one prefix id")
	}
	s, err = NewSchedule(tr, Rules{Mode: Contiguous})
	require.NoError(t, err)
	_, ok := s.Shared(0, 0)
	assert.False(t, ok, "one contiguous block cannot be shared")
}

func TestJitter(t *testing.T) {
	tr := &Trace{Kind: Azure}
	for i := range 1000 {
		tr.Requests = append(tr.Requests, Request{ArrivalNS: int64(i) * 1000, InputTokens: uint32(i), OutputTokens: 1})
	}
	arrivals := func(r Rules) map[uint32]int64 {
		s, err := NewSchedule(tr, r)
		require.NoError(t, err)
		last := int64(0)
		at := map[uint32]int64{}
		for _, r := range s.requests {
			require.GreaterOrEqual(t, r.ArrivalNS, last, "in order of arrival")
			last = r.ArrivalNS
			at[r.InputTokens] = r.ArrivalNS
		}
		return at
	}
	const most = 50_000
	one := arrivals(Rules{JitterNS: most, Seed: 1})
	sum := int64(0)
	for i, at := range one {
		late := at - int64(i)*1000
		require.True(t, late >= 0 && late <= most, "request %d is %d ns late", i, late)
		sum += late
	}
	assert.InDelta(t, most/2, float64(sum)/1000, most/20, "uniform")
	assert.Equal(t, one, arrivals(Rules{JitterNS: most, Seed: 1}))
	assert.NotEqual(t, one, arrivals(Rules{JitterNS: most, Seed: 2}))
	assert.Equal(t, int64(999_000), tr.Requests[999].ArrivalNS, "the trace itself is as it was")
}

func TestInvalidRulesAreRejected(t *testing.T) {
	requests, err := read(azureHeader + azureLine)
	require.NoError(t, err)
	lifetimes, err := read(lifetimeHeader + "a,0,5,1\n")
	require.NoError(t, err)
	seen := map[string]bool{}
	for i, c := range []struct {
		trace *Trace
		rules Rules
		want  string
	}{
		{requests, Rules{Mode: 9}, "mode 9"},
		{requests, Rules{Mode: Lifetimes}, "mode lifetimes needs a trace of lifetimes"},
		{lifetimes, Rules{Mode: Paged}, "mode paged needs a trace of requests"},
		{lifetimes, Rules{BytesPerToken: 1}, "bytes per token is 1"},
		{lifetimes, Rules{JitterNS: 5}, "jitter is 5 ns"},
		{requests, Rules{JitterNS: -5}, "jitter is -5 ns"},
		{requests, Rules{JitterNS: MaxJitterNS + 1}, "one day"},
		{requests, Rules{BytesPerToken: MaxBytesPerToken + 1}, "bytes per token is 8388609: the largest possible is 8388608"},
	} {
		_, err := NewSchedule(c.trace, c.rules)
		require.Error(t, err, fmt.Sprint(i))
		assert.ErrorIs(t, err, device.CodeInvalidArgument)
		assert.Contains(t, err.Error(), c.want)
		assert.False(t, seen[err.Error()])
		seen[err.Error()] = true
	}
	_, err = ParseMode("virtual")
	assert.ErrorContains(t, err, `mode "virtual"`)
	for _, mode := range []Mode{Contiguous, Paged, Lifetimes} {
		back, err := ParseMode(mode.String())
		assert.NoError(t, err)
		assert.Equal(t, mode, back)
	}
}

// The largest request that the readers accept stays within 64 bits.
func TestLargestRequest(t *testing.T) {
	tr := &Trace{Kind: Azure, Requests: []Request{{ArrivalNS: MaxTimeNS, InputTokens: MaxTokens, OutputTokens: MaxTokens}}}
	s, err := NewSchedule(tr, Rules{BytesPerToken: MaxBytesPerToken, JitterNS: MaxJitterNS})
	require.NoError(t, err)
	steps := drain(s)
	require.Len(t, steps, 2)
	assert.Equal(t, uint64(MaxBlockBytes), steps[0].BlockBytes)
	assert.Greater(t, steps[1].TimeNS, steps[0].TimeNS)
}
