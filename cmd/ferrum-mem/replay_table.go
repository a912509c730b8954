package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"ferrum_mem/core/replay"
)

// fact is one line of the summary, in the table and in the report.
type fact struct {
	// Field is the name in the JSON.
	Field string
	Name  string
	Text  string
}

// summary lists the results of a replay for people.
func summary(r *replay.Result) []fact {
	limit := "none"
	if r.LimitBytes > 0 {
		limit = formatBytes(r.LimitBytes)
	}
	pages := "none, whole segments"
	if r.PageBytes > 0 {
		pages = formatBytes(r.PageBytes)
	}
	facts := []fact{
		{"trace", "Trace", r.Trace},
		{"mode", "Mode", r.Mode},
		{"strategy", "Strategy", r.Strategy},
		{"device", "Device", r.Device},
		{"limit_bytes", "Limit", limit},
		{"page_bytes", "Pages", pages},
	}
	if r.LifetimeHints {
		facts = append(facts, fact{"lifetime_hints", "Lifetime hints", "yes"})
	}
	if r.BytesPerToken > 0 {
		facts = append(facts, fact{"bytes_per_token", "Memory of a token", formatBytes(r.BytesPerToken)})
	}
	if r.JitterNS > 0 {
		facts = append(facts,
			fact{"jitter_ns", "Jitter", "up to " + formatTime(r.JitterNS, "ns")},
			fact{"seed", "Seed", fmt.Sprint(r.Seed)})
	}
	return append(facts,
		fact{"duration", "Duration", formatTime(r.Duration, r.TimeUnit)},
		fact{"requests", "Requests", fmt.Sprint(r.Requests)},
		fact{"allocations", "Allocations", fmt.Sprint(r.Allocations)},
		fact{"failed", "Not served at once", fmt.Sprint(r.Failed)},
		fact{"demand_peak_bytes", "Peak demand", formatBytes(r.DemandPeakBytes)},
		fact{"peak_live_bytes", "Peak live", formatBytes(r.PeakLiveBytes)},
		fact{"high_water_bytes", "High water", formatBytes(r.HighWaterBytes)},
		fact{"reserved_peak_bytes", "Peak reserved", formatBytes(r.ReservedPeakBytes)},
		fact{"physical_peak_bytes", "Peak physical", formatBytes(r.PhysicalPeakBytes)},
		fact{"fragmentation", "Fragmentation (high water ÷ peak live)", formatRatio(r.Fragmentation)},
		fact{"physical_over_live_area", "Physical ÷ live over time", formatRatio(r.PhysicalOverLiveArea)},
		fact{"pair_ns_median", "Alloc and free, median", fmt.Sprintf("%d ns", r.PairNSMedian)},
		fact{"pair_ns_p99", "Alloc and free, 99th percentile", fmt.Sprintf("%d ns", r.PairNSP99)},
	)
}

// reasonText states why requests failed, in a pool with pages or without.
func reasonText(reason string, pageBytes uint64) string {
	switch reason {
	case replay.ReasonTooLarge:
		return "the block alone is above the limit"
	case replay.ReasonLimit:
		return "the limit is reached"
	case replay.ReasonFragmentation:
		if pageBytes > 0 {
			return "too many pages are only partly used (fragmentation)"
		}
		return "no free run is long enough (fragmentation)"
	}
	return reason
}

func printReplay(out io.Writer, r *replay.Result, reportPath string) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range summary(r) {
		fmt.Fprintf(table, "%s\t%s\n", f.Name, f.Text)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(r.FailuresByReason) > 0 {
		fmt.Fprintln(out, "\nNot served at once, by reason:")
		for _, reason := range r.FailuresByReason {
			fmt.Fprintf(table, "  %d\t%s\n", reason.Count, reasonText(reason.Reason, r.PageBytes))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "\nHighest peaks:")
	right := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(right, "time\tlive\treserved\tphysical\trunning\t")
	for _, m := range r.Moments[:min(5, len(r.Moments))] {
		fmt.Fprintf(right, "%s\t%s\t%s\t%s\t%d\t\n", formatTime(m.Time, r.TimeUnit),
			formatBytes(m.LiveBytes), formatBytes(m.ReservedBytes), formatBytes(m.PhysicalBytes), m.Running)
	}
	if err := right.Flush(); err != nil {
		return err
	}
	if reportPath != "" {
		_, err := fmt.Fprintf(out, "\nReport: %s\n", reportPath)
		return err
	}
	return nil
}
