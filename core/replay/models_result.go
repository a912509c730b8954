package replay

import "path/filepath"

// ModelsResult is the result of a replay of several models. `ferrum-mem replay --model
// … --json` prints its JSON.
type ModelsResult struct {
	Mode          string `json:"mode"`
	Device        string `json:"device"`
	LimitBytes    uint64 `json:"limit_bytes"`
	PageBytes     uint64 `json:"page_bytes"`
	BytesPerToken uint64 `json:"bytes_per_token"`
	JitterNS      int64  `json:"jitter_ns"`
	Seed          uint64 `json:"seed"`
	WaitNS        int64  `json:"wait_ns"`
	// Requests counts the requests of all models.
	Requests int `json:"requests"`
	// DemandPeakBytes is the most live memory of all models at one time if every
	// request were served at once. DemandPeakPagesBytes is the same with every block in
	// whole pages.
	DemandPeakBytes      uint64 `json:"demand_peak_bytes"`
	DemandPeakPagesBytes uint64 `json:"demand_peak_pages_bytes"`
	TimeUnit             string `json:"time_unit"`
	// Duration is the time from the first to the last step of all runs.
	Duration int64 `json:"duration"`
	// Models has the replayed models. Runs has the results under each policy, in the
	// order of the policies.
	Models []ModelInput `json:"models"`
	Runs   []PolicyRun  `json:"runs"`
	// Comparison is nil unless both policies were played.
	Comparison *Comparison `json:"comparison,omitempty"`
}

// ModelInput has the settings of a model, and what it would need alone.
type ModelInput struct {
	ID                   string `json:"id"`
	Trace                string `json:"trace"`
	DelayNS              int64  `json:"delay_ns"`
	Requests             int    `json:"requests"`
	DemandPeakBytes      uint64 `json:"demand_peak_bytes"`
	DemandPeakPagesBytes uint64 `json:"demand_peak_pages_bytes"`
}

// Usage counts what a model, or all models together, did in a run.
type Usage struct {
	Requests int `json:"requests"`
	// Allocations counts the allocated blocks.
	Allocations uint64 `json:"allocations"`
	// Failed counts the requests that were not served at once, or within the wait.
	Failed uint64 `json:"failed"`
	// Waits counts how often a request waited and was served; the times are those of
	// these waits.
	Waits        uint64 `json:"waits"`
	WaitNSMedian int64  `json:"wait_ns_median"`
	WaitNSP99    int64  `json:"wait_ns_p99"`
	WaitNSMax    int64  `json:"wait_ns_max"`

	PeakLiveBytes uint64 `json:"peak_live_bytes"`
	// Physical is the memory of live blocks; the mean is over the run.
	PhysicalPeakBytes    uint64  `json:"physical_peak_bytes"`
	PhysicalMeanBytes    uint64  `json:"physical_mean_bytes"`
	PhysicalOverLiveArea float64 `json:"physical_over_live_area"`
	// MovedPages counts the pages that were taken from another model.
	MovedPages uint64 `json:"moved_pages"`
	// A pair is the call that allocated a block and the call that freed it.
	PairNSMedian int64 `json:"pair_ns_median"`
	PairNSP99    int64 `json:"pair_ns_p99"`
}

// PolicyRun is the replay under one policy.
type PolicyRun struct {
	Policy   Policy `json:"policy"`
	Strategy string `json:"strategy"`
	Usage
	// Reserved is the memory held from the device: physical memory, and memory kept for
	// later allocations.
	ReservedPeakBytes uint64 `json:"reserved_peak_bytes"`
	ReservedMeanBytes uint64 `json:"reserved_mean_bytes"`
	ClockNS           int64  `json:"clock_ns"`
	Duration          int64  `json:"duration"`
	// Models are in the order of ModelsResult.Models.
	Models []ModelRun   `json:"models"`
	Series ModelsSeries `json:"series"`
}

// ModelRun is one model in a run.
type ModelRun struct {
	ID string `json:"id"`
	// ShareBytes is the model's own part of the limit, GuaranteedBytes its guarantee;
	// 0: none.
	ShareBytes      uint64 `json:"share_bytes"`
	GuaranteedBytes uint64 `json:"guaranteed_bytes"`
	Usage
	// HighWaterBytes is the highest used offset of the model's address space.
	// Fragmentation is HighWaterBytes ÷ peak live bytes.
	HighWaterBytes   uint64        `json:"high_water_bytes"`
	Fragmentation    float64       `json:"fragmentation"`
	FailuresByReason []ReasonCount `json:"failures_by_reason"`
	// Failures has the first MaxFailures of them; LiveBytes is that of the model.
	Failures []Failure `json:"failures"`
}

// ModelsSeries shows a run over time, in intervals of equal length. Element i of each
// list is of the moment, from Time[i] until Time[i]+Interval, at which all models
// together used the most physical memory. Reserved has the highest value of the
// interval, and Failed the sum.
type ModelsSeries struct {
	Interval      int64    `json:"interval"`
	Time          []int64  `json:"time"`
	LiveBytes     []uint64 `json:"live_bytes"`
	PhysicalBytes []uint64 `json:"physical_bytes"`
	ReservedBytes []uint64 `json:"reserved_bytes"`
	// Models are in the order of ModelsResult.Models.
	Models []ModelSeries `json:"models"`
}

// ModelSeries is one model over time.
type ModelSeries struct {
	ID            string   `json:"id"`
	LiveBytes     []uint64 `json:"live_bytes"`
	PhysicalBytes []uint64 `json:"physical_bytes"`
	Failed        []uint64 `json:"failed"`
}

// Comparison compares elastic with static.
type Comparison struct {
	FailedStatic  uint64 `json:"failed_static"`
	FailedElastic uint64 `json:"failed_elastic"`
	// PhysicalMeanRatio is elastic ÷ static, and PairMedianRatio the same for the
	// times; 0 where static has 0.
	PhysicalMeanRatio float64 `json:"physical_mean_ratio"`
	PairMedianRatio   float64 `json:"pair_median_ratio"`
}

// Run returns the run under a policy, or nil.
func (r *ModelsResult) Run(p Policy) *PolicyRun { return runOf(r.Runs, p) }

func runOf(runs []PolicyRun, p Policy) *PolicyRun {
	for i := range runs {
		if runs[i].Policy == p {
			return &runs[i]
		}
	}
	return nil
}

func compareRuns(runs []PolicyRun) *Comparison {
	static, elastic := runOf(runs, PolicyStatic), runOf(runs, PolicyElastic)
	if static == nil || elastic == nil {
		return nil
	}
	return &Comparison{
		FailedStatic: static.Failed, FailedElastic: elastic.Failed,
		PhysicalMeanRatio: ratio(float64(elastic.PhysicalMeanBytes), float64(static.PhysicalMeanBytes)),
		PairMedianRatio:   ratio(float64(elastic.PairNSMedian), float64(static.PairNSMedian)),
	}
}

// ratio returns a/b, or 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// result returns a result with the values that are known before a run.
func (b *preparedReplay) result() *ModelsResult {
	r := &ModelsResult{
		Mode: b.rules.Mode.String(), PageBytes: b.options.PageBytes, BytesPerToken: b.rules.BytesPerToken,
		JitterNS: b.rules.JitterNS, Seed: b.options.Rules.Seed, WaitNS: b.options.WaitNS, TimeUnit: "ns",
		DemandPeakBytes: b.demand.all.live, DemandPeakPagesBytes: b.demand.all.paged, Models: b.inputs(),
	}
	for _, m := range b.models {
		r.Requests += m.Trace.Len()
	}
	return r
}

func (b *preparedReplay) inputs() []ModelInput {
	var inputs []ModelInput
	for i, m := range b.models {
		inputs = append(inputs, ModelInput{
			ID: m.ID, Trace: filepath.Base(m.Trace.Name), DelayNS: m.DelayNS, Requests: m.Trace.Len(),
			DemandPeakBytes: b.demand.each[i].live, DemandPeakPagesBytes: b.demand.each[i].paged,
		})
	}
	return inputs
}
