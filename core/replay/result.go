package replay

// Result is the result of a replay. `ferrum-mem replay --json` prints its JSON. The
// documentation of the package defines the values.
type Result struct {
	Trace    string `json:"trace"`
	Mode     string `json:"mode"`
	Strategy string `json:"strategy"`
	// LifetimeHints: the pool got the time at which each block would be freed.
	LifetimeHints bool   `json:"lifetime_hints"`
	Device        string `json:"device"`
	// LimitBytes is 0 without a limit.
	LimitBytes uint64 `json:"limit_bytes"`
	// PageBytes is the size of the pages that the pool mapped; 0: it allocated whole
	// segments.
	PageBytes uint64 `json:"page_bytes"`
	// BytesPerToken is 0 for lifetimes.
	BytesPerToken uint64 `json:"bytes_per_token"`
	JitterNS      int64  `json:"jitter_ns"`
	Seed          uint64 `json:"seed"`

	// Requests counts requests, or lifetimes.
	Requests int `json:"requests"`
	// Allocations counts the allocated blocks.
	Allocations uint64 `json:"allocations"`
	// Failed counts the requests that were not served at once.
	Failed uint64 `json:"failed"`

	PeakLiveBytes uint64 `json:"peak_live_bytes"`
	// DemandPeakBytes is the value of PeakLiveBytes without a limit.
	DemandPeakBytes   uint64 `json:"demand_peak_bytes"`
	HighWaterBytes    uint64 `json:"high_water_bytes"`
	ReservedPeakBytes uint64 `json:"reserved_peak_bytes"`
	PhysicalPeakBytes uint64 `json:"physical_peak_bytes"`
	// Fragmentation is high water ÷ peak live bytes; 0 if nothing was live.
	Fragmentation float64 `json:"fragmentation"`
	// PhysicalOverLiveArea is ∫ physical ÷ ∫ live over the time of the trace; 0 if
	// nothing was live.
	PhysicalOverLiveArea float64 `json:"physical_over_live_area"`

	PairNSMedian int64 `json:"pair_ns_median"`
	PairNSP99    int64 `json:"pair_ns_p99"`
	// ClockNS is the cost of reading the clock, which is not included in the pairs.
	ClockNS int64 `json:"clock_ns"`

	// TimeUnit is "ns", or "trace" for lifetimes, whose times have no unit.
	TimeUnit string `json:"time_unit"`
	// Duration is the time from the first to the last step.
	Duration int64 `json:"duration"`

	FailuresByReason []ReasonCount `json:"failures_by_reason"`
	// Failures has the first MaxFailures of them.
	Failures []Failure `json:"failures"`
	// Moments has the highest peaks of live memory, the highest first.
	Moments []Moment `json:"moments"`
	Series  Series   `json:"series"`

	// AddressMap is nil unless Options.AddressMap requested it. It is for pictures and
	// too large for the JSON.
	AddressMap *AddressMap `json:"-"`
}

// MaxFailures bounds Result.Failures.
const MaxFailures = 100

// Failure is a request that was not served.
type Failure struct {
	Time int64 `json:"time"`
	// Request is its index in order of arrival, from 0. Line is its line in the file,
	// from 1.
	Request int `json:"request"`
	Line    int `json:"line"`
	// SizeBytes is the size of the block that could not be allocated.
	SizeBytes uint64 `json:"size_bytes"`
	// LiveBytes is the live memory at that time.
	LiveBytes uint64 `json:"live_bytes"`
	// Reason is too_large, limit or fragmentation.
	Reason string `json:"reason"`
}

// ReasonCount is the number of requests that failed for one reason.
type ReasonCount struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// Moment is the state of a replay at one time.
type Moment struct {
	Time          int64  `json:"time"`
	LiveBytes     uint64 `json:"live_bytes"`
	ReservedBytes uint64 `json:"reserved_bytes"`
	PhysicalBytes uint64 `json:"physical_bytes"`
	// Running is the number of running requests.
	Running int `json:"running"`
}

// Series shows the replay over time, in intervals of equal length. Element i of each
// list is the highest value from Time[i] until Time[i]+Interval; for Failed it is the
// sum.
type Series struct {
	Interval      int64    `json:"interval"`
	Time          []int64  `json:"time"`
	LiveBytes     []uint64 `json:"live_bytes"`
	ReservedBytes []uint64 `json:"reserved_bytes"`
	PhysicalBytes []uint64 `json:"physical_bytes"`
	Failed        []uint64 `json:"failed"`
}
