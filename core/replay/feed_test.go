package replay

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/trace"
)

// The steps of each request come in the order of its schedule, however often the request
// waits. Each step is late by the time that its request has waited until then.
func TestStepsOfWaitingRequestsComeInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrace(t)
		rules := trace.Rules{Mode: trace.Paged, BytesPerToken: 4096}
		planned := map[int][]trace.Step{}
		plan, err := trace.NewSchedule(tr, rules)
		require.NoError(t, err)
		for s, ok := plan.Next(); ok; s, ok = plan.Next() {
			planned[s.Request] = append(planned[s.Request], s)
		}
		schedule, err := trace.NewSchedule(tr, rules)
		require.NoError(t, err)
		f, now := newFeed(schedule, 100), int64(0)
		since, late := map[int]int64{}, map[int]int64{}
		resume := func(request int) {
			waited := now - since[request]
			require.NoError(t, f.resume(request, waited))
			late[request] += waited
			delete(since, request)
		}
		for {
			next, more := f.peek()
			if !more {
				if len(since) == 0 {
					break
				}
				now += rapid.Int64Range(0, 1e9).Draw(t, "pause")
				resume(slices.Min(slices.Collect(maps.Keys(since))))
				continue
			}
			f.take(next)
			request := next.step.Request
			require.NotEmpty(t, planned[request], "request %d has ended", request)
			require.Equal(t, planned[request][0], next.step)
			require.Equal(t, next.step.TimeNS+100+late[request], next.at)
			require.GreaterOrEqual(t, next.at, now)
			planned[request], now = planned[request][1:], next.at
			if next.step.Kind != trace.End && rapid.Bool().Draw(t, "wait") {
				f.hold(request)
				since[request] = now
			}
			for _, other := range slices.Sorted(maps.Keys(since)) {
				if other == request {
					continue
				}
				switch rapid.SampledFrom([]string{"wait", "wait", "wait", "resume", "resume", "drop"}).Draw(t, "then") {
				case "resume":
					resume(other)
				case "drop":
					f.drop(other)
					delete(since, other)
					delete(planned, other)
				}
			}
		}
		for request, left := range planned {
			require.Empty(t, left, "of request %d", request)
		}
	})
}
