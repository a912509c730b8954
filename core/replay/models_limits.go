package replay

import (
	"context"

	"ferrum_mem/core/device"
)

// LimitsResult has the smallest limits at which every request is served. `ferrum-mem
// replay --model … --find-limit --json` prints its JSON.
type LimitsResult struct {
	Mode          string `json:"mode"`
	Device        string `json:"device"`
	PageBytes     uint64 `json:"page_bytes"`
	BytesPerToken uint64 `json:"bytes_per_token"`
	JitterNS      int64  `json:"jitter_ns"`
	Seed          uint64 `json:"seed"`
	WaitNS        int64  `json:"wait_ns"`
	// Requests counts the requests of all models.
	Requests int `json:"requests"`
	// ElasticLimitBytes is the smallest sufficient limit when the models share it.
	// StaticLimitBytes is the limit when each model has a part of exactly the size that
	// it needs (the sum of Models[].LimitBytes). EqualLimitBytes is the limit when the
	// parts are equal.
	ElasticLimitBytes uint64 `json:"elastic_limit_bytes"`
	StaticLimitBytes  uint64 `json:"static_limit_bytes"`
	EqualLimitBytes   uint64 `json:"equal_limit_bytes"`
	// DemandPeakBytes is the most live memory of all models at one time.
	DemandPeakBytes uint64 `json:"demand_peak_bytes"`
	// ElasticOverStatic is elastic ÷ static, ElasticOverPeak is elastic ÷ the peak of
	// the demand; 0 if nothing is ever live.
	ElasticOverStatic float64 `json:"elastic_over_static"`
	ElasticOverPeak   float64 `json:"elastic_over_peak"`
	// Replays is the number of replays that found and verified the limits.
	Replays int          `json:"replays"`
	Models  []ModelLimit `json:"models"`
}

// ModelLimit is the smallest limit of a model that is replayed alone.
type ModelLimit struct {
	ModelInput
	LimitBytes uint64 `json:"limit_bytes"`
}

// FindLimits finds the smallest limits, in whole pages, at which no request fails: for
// each model alone, and for all together under PolicyElastic. Two replays verify each
// limit: with it no request fails, and with one page less a request fails. It ignores
// LimitBytes, Policies, shares and guarantees. Errors: those of RunModels.
func FindLimits(ctx context.Context, models []ModelTrace, o ModelsOptions) (*LimitsResult, error) {
	progress := o.Progress
	o.Progress = nil
	bare := make([]ModelTrace, len(models))
	for i, m := range models {
		bare[i] = ModelTrace{ID: m.ID, Trace: m.Trace, DelayNS: m.DelayNS}
	}
	all, err := plan(ctx, bare, &o)
	if err != nil {
		return nil, err
	}
	known := all.result()
	r := &LimitsResult{
		Mode: known.Mode, PageBytes: known.PageBytes, BytesPerToken: known.BytesPerToken, JitterNS: known.JitterNS,
		Seed: known.Seed, WaitNS: known.WaitNS, Requests: known.Requests, DemandPeakBytes: known.DemandPeakBytes,
	}
	search := &limitSearch{}
	done := 0
	note := func(requests int) {
		if done += requests; progress != nil {
			progress(done, 2*r.Requests)
		}
	}
	for i, m := range known.Models {
		own := o
		own.Rules.Seed += uint64(i)
		alone, err := plan(ctx, bare[i:i+1], &own)
		if err != nil {
			return nil, err
		}
		limit, err := search.smallest(ctx, alone)
		if err != nil {
			return nil, err
		}
		r.Models = append(r.Models, ModelLimit{ModelInput: m, LimitBytes: limit})
		r.StaticLimitBytes += limit
		r.EqualLimitBytes = max(r.EqualLimitBytes, limit*uint64(len(models)))
		note(m.Requests)
	}
	if r.ElasticLimitBytes, err = search.smallest(ctx, all); err != nil {
		return nil, err
	}
	note(r.Requests)
	r.Device, r.Replays = search.device, search.replays
	r.ElasticOverStatic = ratio(float64(r.ElasticLimitBytes), float64(r.StaticLimitBytes))
	r.ElasticOverPeak = ratio(float64(r.ElasticLimitBytes), float64(r.DemandPeakBytes))
	return r, nil
}

// limitSearch finds limits by replays.
type limitSearch struct {
	device  string
	replays int
}

// smallest returns the smallest limit at which a prepared replay has no failure. Without waits
// this is the peak of the demand in whole pages, if the pool is as good as the computed
// optimum; with waits it may be less. So the search tries the peak and one page below
// first, and then bisects the rest.
func (s *limitSearch) smallest(ctx context.Context, b *preparedReplay) (uint64, error) {
	page := b.options.PageBytes
	// A limit below the largest block is never sufficient.
	enough, short := max(b.demand.all.paged, page), max(b.demand.largest, page)-page
	for {
		ok, err := s.serves(ctx, b, enough)
		if err != nil {
			return 0, err
		}
		if ok {
			break
		}
		if enough > MaxRangeBytes/2 {
			return 0, refuse("requests fail even with a limit of %s", device.FormatBytes(enough))
		}
		short, enough = enough, 2*enough
	}
	for next := enough - page; enough-short > page; next = short + (enough-short)/page/2*page {
		ok, err := s.serves(ctx, b, next)
		if err != nil {
			return 0, err
		}
		if ok {
			enough = next
		} else {
			short = next
		}
	}
	return enough, nil
}

// serves reports whether every request is served with a limit.
func (s *limitSearch) serves(ctx context.Context, b *preparedReplay, limitBytes uint64) (bool, error) {
	bounds, err := b.bounds(PolicyElastic, limitBytes)
	if err != nil {
		return false, err
	}
	run, id, err := b.play(ctx, runSettings{
		limitBytes: limitBytes, bounds: bounds, policy: PolicyElastic, runs: 1, untilFailure: true,
	})
	s.device = id
	s.replays++
	return run.Failed == 0, err
}
