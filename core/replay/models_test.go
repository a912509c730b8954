package replay

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/trace"
)

const testPage = 64 << 10

// mustModels replays the traces. It checks that the device holds no memory at the end and
// that the parts of the result agree.
func mustModels(t require.TestingT, models []ModelTrace, o ModelsOptions) *ModelsResult {
	b := &bench{}
	o.Open = b.open
	if o.PageBytes == 0 {
		o.PageBytes = testPage
	}
	r, err := RunModels(testContext, models, o)
	require.NoError(t, err)
	require.Zero(t, b.device.HeldBytes())
	for i := range r.Runs {
		checkRun(t, r, &r.Runs[i])
	}
	return r
}

func checkRun(t require.TestingT, r *ModelsResult, run *PolicyRun) {
	require.Len(t, run.Models, len(r.Models))
	require.LessOrEqual(t, run.ReservedPeakBytes, r.LimitBytes)
	require.LessOrEqual(t, run.PhysicalPeakBytes, run.ReservedPeakBytes)
	s := run.Series
	require.Equal(t, run.PhysicalPeakBytes, maxOf(s.PhysicalBytes))
	require.Equal(t, run.ReservedPeakBytes, maxOf(s.ReservedBytes))
	var sum Usage
	for i, m := range run.Models {
		require.Equal(t, m.Requests, r.Models[i].Requests)
		sum.Requests += m.Requests
		sum.Allocations += m.Allocations
		sum.Failed += m.Failed
		sum.Waits += m.Waits
		sum.MovedPages += m.MovedPages
		var failed, byReason uint64
		for at := range s.Time {
			failed += s.Models[i].Failed[at]
		}
		for _, reason := range m.FailuresByReason {
			byReason += reason.Count
		}
		require.Equal(t, m.Failed, failed)
		require.Equal(t, m.Failed, byReason)
		require.Len(t, m.Failures, int(min(m.Failed, MaxFailures)))
		require.GreaterOrEqual(t, m.PhysicalPeakBytes, m.PeakLiveBytes)
		if m.ShareBytes > 0 {
			require.LessOrEqual(t, m.PhysicalPeakBytes, m.ShareBytes)
			require.Zero(t, m.MovedPages)
		}
	}
	require.Equal(t, sum.Requests, run.Requests)
	require.Equal(t, sum.Allocations, run.Allocations)
	require.Equal(t, sum.Failed, run.Failed)
	require.Equal(t, sum.Waits, run.Waits)
	require.Equal(t, sum.MovedPages, run.MovedPages)
	for at := range s.Time {
		var live, physical uint64
		for _, m := range s.Models {
			live += m.LiveBytes[at]
			physical += m.PhysicalBytes[at]
		}
		require.Equal(t, s.LiveBytes[at], live)
		require.Equal(t, s.PhysicalBytes[at], physical)
	}
}

func maxOf(values []uint64) (most uint64) {
	for _, v := range values {
		most = max(most, v)
	}
	return most
}

func TestModelsReplayMatchesReferenceModel(t *testing.T) {
	devicetest.OneThread(t)
	rapid.Check(t, func(t *rapid.T) {
		var models []ModelTrace
		for i := range rapid.IntRange(1, 3).Draw(t, "models") {
			models = append(models, ModelTrace{
				ID: fmt.Sprint("m", i), Trace: drawLoad(t, "requests"), DelayNS: rapid.Int64Range(0, 30).Draw(t, "delay") * 10_000_000,
			})
		}
		limit := rapid.Uint64Range(uint64(len(models)), 300).Draw(t, "limit")
		wait := rapid.SampledFrom([]int64{0, 1, 50_000_000, 300_000_000, 5_000_000_000}).Draw(t, "wait")
		r := mustModels(t, models, ModelsOptions{
			Rules: trace.Rules{BytesPerToken: 4096}, LimitBytes: limit * testPage, WaitNS: wait,
		})
		for _, run := range r.Runs {
			most := make([]uint64, len(models))
			for i := range most {
				most[i] = limit
				if run.Policy == PolicyStatic {
					most[i] = limit / uint64(len(models))
				}
			}
			n := naiveSplit(models, 4096, limit, most, wait)
			n.play()
			for i, want := range n.models {
				got := run.Models[i]
				require.Equal(t, want.failed, got.Failed, "%s, model %d", run.Policy, i)
				require.Equal(t, want.waits, got.Waits, "%s, model %d", run.Policy, i)
				require.Equal(t, want.peakPages*testPage, got.PhysicalPeakBytes)
				require.Equal(t, want.peakLive, got.PeakLiveBytes)
				require.Equal(t, uint64(len(want.requests))-want.failed, got.Allocations)
				require.LessOrEqual(t, got.WaitNSMax, wait)
			}
			require.Equal(t, n.peakPages*testPage, run.PhysicalPeakBytes)
		}
	})
}

// Two replays give equal results, except for the measured times of calls.
func TestModelsAreDeterministic(t *testing.T) {
	tr := exampleTrace(t)
	tr.Requests = tr.Requests[:600]
	models := []ModelTrace{{ID: "a", Trace: tr}, {ID: "b", Trace: tr, DelayNS: 7e9}}
	o := ModelsOptions{LimitBytes: 6 << 30, PageBytes: 2 << 20, WaitNS: 2e9, Rules: trace.Rules{JitterNS: 50e6, Seed: 3}}
	first, second := mustModels(t, models, o), mustModels(t, models, o)
	require.Positive(t, first.Run(PolicyElastic).Waits)
	require.Positive(t, first.Run(PolicyElastic).MovedPages)
	for _, r := range []*ModelsResult{first, second} {
		r.Comparison.PairMedianRatio = 0
		for i := range r.Runs {
			r.Runs[i].ClockNS, r.Runs[i].PairNSMedian, r.Runs[i].PairNSP99 = 0, 0, 0
			for j := range r.Runs[i].Models {
				r.Runs[i].Models[j].PairNSMedian, r.Runs[i].Models[j].PairNSP99 = 0, 0
			}
		}
	}
	require.Equal(t, first, second)
	other := o
	other.Rules.Seed = 4
	assert.NotEqual(t, first.Runs[0].Series, mustModels(t, models, other).Runs[0].Series)
}

// Paged requests share blocks within a model, but not with another model.
func TestModelsPaged(t *testing.T) {
	tr := readTrace(t, `{"timestamp":0,"input_length":512,"output_length":100,"hash_ids":[1]}
{"timestamp":1,"input_length":512,"output_length":100,"hash_ids":[1]}
`)
	models := []ModelTrace{{ID: "a", Trace: tr}, {ID: "b", Trace: tr}}
	r := mustModels(t, models, ModelsOptions{Rules: trace.Rules{Mode: trace.Paged, BytesPerToken: 4096}, LimitBytes: 1 << 30})
	run := r.Run(PolicyElastic)
	// There are 32 shared blocks of 16 tokens. Each request has 7 more blocks, for the 99
	// tokens before the last.
	assert.EqualValues(t, (32+14)*testPage, run.Models[0].PeakLiveBytes)
	assert.EqualValues(t, 2*(32+14)*testPage, run.PeakLiveBytes)
	assert.Zero(t, run.Failed)
	// The limit has space for the prefix of one model only, so the other model fails.
	r = mustModels(t, models, ModelsOptions{
		Rules: trace.Rules{Mode: trace.Paged, BytesPerToken: 4096}, LimitBytes: 60 * testPage, Policies: []Policy{PolicyElastic},
	})
	assert.EqualValues(t, 2, r.Runs[0].Models[1].Failed)
	assert.Zero(t, r.Runs[0].Models[0].Failed)
	assert.Nil(t, r.Comparison)
}

// With a wait, paged requests grow late. At the end, each request was served or has failed.
func TestModelsPagedWait(t *testing.T) {
	devicetest.OneThread(t)
	rapid.Check(t, func(t *rapid.T) {
		models := []ModelTrace{{ID: "a", Trace: drawTrace(t)}, {ID: "b", Trace: drawTrace(t), DelayNS: 100e6}}
		r := mustModels(t, models, ModelsOptions{
			Rules: trace.Rules{Mode: trace.Paged, BytesPerToken: 4096}, WaitNS: rapid.Int64Range(0, 3e9).Draw(t, "wait"),
			LimitBytes: rapid.Uint64Range(2, 200).Draw(t, "limit") * testPage,
		})
		roomy := mustModels(t, models, ModelsOptions{
			Rules: trace.Rules{Mode: trace.Paged, BytesPerToken: 4096}, LimitBytes: 1 << 30, WaitNS: 1e9, Policies: []Policy{PolicyElastic},
		})
		for _, run := range roomy.Runs {
			require.Zero(t, run.Failed+run.Waits)
			require.Equal(t, roomy.DemandPeakBytes, run.PeakLiveBytes)
		}
		require.Equal(t, roomy.DemandPeakPagesBytes, roomy.Run(PolicyElastic).PhysicalPeakBytes)
		require.Equal(t, roomy.DemandPeakBytes, r.DemandPeakBytes)
	})
}

func TestModelsShares(t *testing.T) {
	tr := readTrace(t, `{"timestamp":0,"input_length":100,"output_length":1}`) // 7 pages
	models := []ModelTrace{{ID: "a", Trace: tr, ShareBytes: 8 * testPage}, {ID: "b", Trace: tr, ShareBytes: 2 * testPage}}
	r := mustModels(t, models, ModelsOptions{Rules: trace.Rules{BytesPerToken: 4096}, LimitBytes: 10 * testPage})
	static := r.Run(PolicyStatic)
	assert.Zero(t, static.Models[0].Failed)
	assert.Equal(t, []ReasonCount{{ReasonTooLarge, 1}}, static.Models[1].FailuresByReason)
	assert.Equal(t, &Comparison{FailedStatic: 1, FailedElastic: 1}, &Comparison{r.Comparison.FailedStatic, r.Comparison.FailedElastic, 0, 0})
	assert.Equal(t, []ReasonCount{{ReasonLimit, 1}}, r.Run(PolicyElastic).Models[1].FailuresByReason)
	// The guarantee keeps 7 pages free for the second model, so the first model fails.
	models[1].GuaranteedBytes = 7 * testPage
	r = mustModels(t, models, ModelsOptions{
		Rules: trace.Rules{BytesPerToken: 4096}, LimitBytes: 10 * testPage, Policies: []Policy{PolicyElastic},
	})
	assert.EqualValues(t, 1, r.Runs[0].Models[0].Failed)
	assert.Zero(t, r.Runs[0].Models[1].Failed)
}

func TestModelsRefused(t *testing.T) {
	tr := readTrace(t, `{"timestamp":0,"input_length":100,"output_length":1}`)
	life := readTrace(t, "id,lower,upper,size\na,0,9,1\n")
	two := func(change func(m []ModelTrace)) []ModelTrace {
		m := []ModelTrace{{ID: "a", Trace: tr}, {ID: "b", Trace: tr}}
		change(m)
		return m
	}
	same := func([]ModelTrace) {}
	fine := ModelsOptions{LimitBytes: 1 << 30}
	for _, c := range []struct {
		models  []ModelTrace
		options ModelsOptions
		want    string
	}{
		{nil, fine, "there are 0 models"},
		{two(func(m []ModelTrace) { m[1].ID = "a" }), fine, `model "a" is listed twice`},
		{two(func(m []ModelTrace) { m[1].ID = "" }), fine, "a model has no id"},
		{two(func(m []ModelTrace) { m[1].Trace = life }), fine, "has lifetimes"},
		{two(func(m []ModelTrace) { m[1].DelayNS = -1 }), fine, "delay is -1 ns"},
		{two(func(m []ModelTrace) { m[1].DelayNS = MaxDelayNS + 1 }), fine, "delay is 3153600000000000001 ns"},
		{two(func(m []ModelTrace) { m[0].ShareBytes = 5 }), fine, "1 of 2 models have a share"},
		{two(func(m []ModelTrace) { m[0].ShareBytes, m[1].ShareBytes = 1<<29, 1<<29+2<<20 }), fine, `model "b": with its share`},
		{two(func(m []ModelTrace) { m[0].ShareBytes, m[1].ShareBytes = 5, 1<<29 }), fine, `model "a": its share of the limit`},
		{two(func(m []ModelTrace) { m[0].GuaranteedBytes = 1<<30 + 1 }), fine, `model "a": with its guarantee of 1.00 GiB`},
		{two(same), ModelsOptions{}, "and it is 0"},
		{two(same), ModelsOptions{LimitBytes: 5}, "limit of 5 B is less than a page of 2.00 MiB"},
		{two(same), ModelsOptions{LimitBytes: 2 << 20}, "less than a page"},
		{two(same), ModelsOptions{LimitBytes: MaxRangeBytes + 1}, "limit of 64.00 TiB is above"},
		{two(same), ModelsOptions{LimitBytes: 1 << 30, PageBytes: 3 << 20}, "page size 3145728"},
		{two(same), ModelsOptions{LimitBytes: 1 << 30, WaitNS: -1}, "wait is -1 ns"},
		{two(same), ModelsOptions{LimitBytes: 1 << 30, Policies: []Policy{"fair"}}, `policy "fair"`},
		{two(same), ModelsOptions{LimitBytes: 1 << 30, Rules: trace.Rules{Mode: trace.Paged, BytesPerToken: 4096}}, "has 64.00 KiB, which is not a multiple of the page size of 2.00 MiB"},
		{two(same), ModelsOptions{LimitBytes: 1 << 30, Rules: trace.Rules{Mode: trace.Lifetimes}}, "mode lifetimes"},
	} {
		b := &bench{}
		c.options.Open = b.open
		_, err := RunModels(testContext, c.models, c.options)
		require.ErrorIs(t, err, device.CodeInvalidArgument, c.want)
		assert.ErrorContains(t, err, c.want)
		if b.device != nil {
			assert.Zero(t, b.device.HeldBytes(), c.want)
		}
	}
	b := &bench{}
	_, err := RunModels(testContext, two(same), ModelsOptions{LimitBytes: 1 << 30, PageBytes: 4096, Open: b.open})
	require.ErrorIs(t, err, device.CodeInvalidPageSize)
}

func TestModelsCancelled(t *testing.T) {
	tr := exampleTrace(t)
	models := []ModelTrace{{ID: "a", Trace: tr}, {ID: "b", Trace: tr, DelayNS: 9e9}}
	ctx, cancel := context.WithCancel(testContext)
	b := &bench{}
	_, err := RunModels(ctx, models, ModelsOptions{LimitBytes: 8 << 30, Open: b.open, Progress: func(arrived, requests int) {
		require.Equal(t, 4*8819, requests)
		if arrived > 1000 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, device.CodeCancelled)
	assert.Zero(t, b.device.HeldBytes())
	none := &bench{}
	_, err = RunModels(ctx, models, ModelsOptions{LimitBytes: 8 << 30, Open: none.open})
	require.ErrorIs(t, err, device.CodeCancelled)
	_, err = FindLimits(ctx, models, ModelsOptions{Open: none.open})
	require.ErrorIs(t, err, device.CodeCancelled)
	assert.Nil(t, none.device, "no device is opened for nothing")
}

// Fault injection: the replay returns the error of the failed device call, or succeeds
// because the pool continued without that call.
func TestModelsDeviceFails(t *testing.T) {
	tr := readTrace(t, `{"timestamp":0,"input_length":100,"output_length":1}
{"timestamp":500,"input_length":300,"output_length":1}
`)
	models := []ModelTrace{{ID: "a", Trace: tr}, {ID: "b", Trace: tr, DelayNS: 300e6}}
	for _, call := range []devicetest.Call{devicetest.Reserve, devicetest.Create, devicetest.Map, devicetest.SetAccess} {
		for n := 1; ; n++ {
			b := &bench{prime: func(d *devicetest.Device) { d.FailNth(call, n, errLost) }}
			_, err := RunModels(testContext, models, ModelsOptions{
				Rules: trace.Rules{BytesPerToken: 4096}, LimitBytes: 40 * testPage, PageBytes: testPage, Open: b.open,
				Policies: []Policy{PolicyElastic},
			})
			assert.Zero(t, b.device.HeldBytes(), "%s %d", call, n)
			if b.device.ClearFaults() > 0 {
				require.NoError(t, err)
				require.Greater(t, n, 1, "the replay made no call %s", call)
				break
			}
			if call != devicetest.Create { // the pool may create pages ahead of need
				require.ErrorIs(t, err, device.CodeDeviceLost, "%s %d", call, n)
			}
		}
	}
}

// Memory that is freed at the exact end of a wait still serves the waiting request.
func TestModelsWaitToTheEnd(t *testing.T) {
	tr := readTrace(t, `{"timestamp":0,"input_length":100,"output_length":1}`) // 7 pages for 50 ms
	models := []ModelTrace{{ID: "a", Trace: tr}, {ID: "b", Trace: tr, DelayNS: 10e6}}
	o := ModelsOptions{Rules: trace.Rules{BytesPerToken: 4096}, LimitBytes: 10 * testPage, Policies: []Policy{PolicyElastic}, WaitNS: 40e6}
	run := mustModels(t, models, o).Runs[0]
	assert.Zero(t, run.Failed)
	assert.EqualValues(t, 1, run.Models[1].Waits)
	assert.EqualValues(t, 40e6, run.WaitNSMax)
	assert.EqualValues(t, 100e6, run.Duration, "the run lasts longer by the time of the wait")
	o.WaitNS = 40e6 - 1
	run = mustModels(t, models, o).Runs[0]
	assert.EqualValues(t, 1, run.Failed)
	assert.EqualValues(t, 50e6-1, run.Models[1].Failures[0].Time)
}
