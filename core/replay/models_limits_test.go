package replay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/trace"
)

// The limit that FindLimits returns serves every request, and one page less does not. This
// is true with and without waits. Without waits, the limit equals the peak of the pages in
// demand.
func TestFindLimits(t *testing.T) {
	devicetest.OneThread(t)
	rapid.Check(t, func(t *rapid.T) {
		models := []ModelTrace{
			{ID: "a", Trace: drawLoad(t, "first")}, {ID: "b", Trace: drawLoad(t, "second"), DelayNS: rapid.Int64Range(0, 2e9).Draw(t, "delay")},
		}
		o := ModelsOptions{
			Rules: trace.Rules{BytesPerToken: 4096}, PageBytes: testPage, WaitNS: rapid.SampledFrom([]int64{0, 200e6}).Draw(t, "wait"),
		}
		b := &bench{}
		o.Open = b.open
		r, err := FindLimits(testContext, models, o)
		require.NoError(t, err)
		require.Zero(t, b.device.HeldBytes())
		require.Equal(t, r.Models[0].LimitBytes+r.Models[1].LimitBytes, r.StaticLimitBytes)
		require.Equal(t, 2*max(r.Models[0].LimitBytes, r.Models[1].LimitBytes), r.EqualLimitBytes)
		if o.WaitNS == 0 {
			require.LessOrEqual(t, r.ElasticLimitBytes, r.StaticLimitBytes)
		}
		o.Policies = []Policy{PolicyElastic}
		o.LimitBytes = r.ElasticLimitBytes
		at := mustModels(t, models, o)
		require.Zero(t, at.Runs[0].Failed)
		if o.WaitNS == 0 {
			require.Equal(t, at.DemandPeakPagesBytes, r.ElasticLimitBytes)
		}
		if o.LimitBytes -= testPage; o.LimitBytes > 0 {
			require.NotZero(t, mustModels(t, models, o).Runs[0].Failed)
		}
	})
}

// The test measures what sharing saves, on the part of the recorded trace around its peak.
func TestFindLimitsOnRecordedTrace(t *testing.T) {
	tr := exampleTrace(t)
	tr.Requests = tr.Requests[:400]
	b := &bench{}
	r, err := FindLimits(testContext, []ModelTrace{{ID: "a", Trace: tr}, {ID: "b", Trace: tr, DelayNS: 300e9}}, ModelsOptions{Open: b.open})
	require.NoError(t, err)
	assert.LessOrEqual(t, r.ElasticOverPeak, 1.02)
	assert.Less(t, r.ElasticOverStatic, 0.9)
	assert.Equal(t, 6, r.Replays)
}
