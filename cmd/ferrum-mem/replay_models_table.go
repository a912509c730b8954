package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"ferrum_mem/core/replay"
)

// modelsFigure is one line of the comparison, in the table and in the report.
type modelsFigure struct {
	Name string
	// Field is the name in the JSON.
	Field string
	text  func(u *replay.Usage) string
}

var modelsFigures = []modelsFigure{
	{"Requests", "requests", func(u *replay.Usage) string { return fmt.Sprint(u.Requests) }},
	{"Not served", "failed", func(u *replay.Usage) string { return fmt.Sprint(u.Failed) }},
	{"Served after a wait", "waits", func(u *replay.Usage) string { return fmt.Sprint(u.Waits) }},
	{"Wait, median", "wait_ns_median", func(u *replay.Usage) string { return formatTime(u.WaitNSMedian, "ns") }},
	{"Wait, longest", "wait_ns_max", func(u *replay.Usage) string { return formatTime(u.WaitNSMax, "ns") }},
	{"Peak live", "peak_live_bytes", func(u *replay.Usage) string { return formatBytes(u.PeakLiveBytes) }},
	{"Peak physical", "physical_peak_bytes", func(u *replay.Usage) string { return formatBytes(u.PhysicalPeakBytes) }},
	{"Mean physical", "physical_mean_bytes", func(u *replay.Usage) string { return formatBytes(u.PhysicalMeanBytes) }},
	{"Physical ÷ live over time", "physical_over_live_area", func(u *replay.Usage) string { return formatRatio(u.PhysicalOverLiveArea) }},
	{"Pages from other models", "moved_pages", func(u *replay.Usage) string { return fmt.Sprint(u.MovedPages) }},
	{"Alloc and free, median", "pair_ns_median", func(u *replay.Usage) string { return formatMicroseconds(u.PairNSMedian) }},
	{"Alloc and free, 99th percentile", "pair_ns_p99", func(u *replay.Usage) string { return formatMicroseconds(u.PairNSP99) }},
}

func formatMicroseconds(ns int64) string { return fmt.Sprintf("%.1f µs", float64(ns)/1e3) }

// shownFigures leaves out waits if no request may wait.
func shownFigures(r *replay.ModelsResult) []modelsFigure {
	var shown []modelsFigure
	for _, f := range modelsFigures {
		if r.WaitNS > 0 || !strings.HasPrefix(f.Field, "wait") {
			shown = append(shown, f)
		}
	}
	return shown
}

// modelsHeadline describes in one line what was replayed.
func modelsHeadline(r *replay.ModelsResult) string {
	wait := "requests do not wait"
	if r.WaitNS > 0 {
		wait = "requests wait up to " + formatTime(r.WaitNS, "ns")
	}
	return fmt.Sprintf("%d requests of %d models, %s, %s a token, limit %s in pages of %s on %s, %s",
		r.Requests, len(r.Models), r.Mode, formatBytes(r.BytesPerToken), formatBytes(r.LimitBytes), formatBytes(r.PageBytes),
		r.Device, wait)
}

// verdict compares the policies. It returns "" for a single policy.
func verdict(r *replay.ModelsResult) string {
	c := r.Comparison
	if c == nil {
		return ""
	}
	return fmt.Sprintf("Of %d requests the static split did not serve %d, the elastic pool %d.", r.Requests, c.FailedStatic, c.FailedElastic)
}

func printModels(out io.Writer, r *replay.ModelsResult, reportPath string) error {
	fmt.Fprintf(out, "%s.\n\n", modelsHeadline(r))
	about := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(about, "Model\tTrace\tStarts after\tPeak demand")
	for _, m := range r.Models {
		fmt.Fprintf(about, "%s\t%s\t%s\t%s\n", m.ID, m.Trace, formatTime(m.DelayNS, "ns"), formatBytes(m.DemandPeakBytes))
	}
	fmt.Fprintf(about, "together\t\t\t%s\n", formatBytes(r.DemandPeakBytes))
	if err := about.Flush(); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\n")
	for _, run := range r.Runs {
		fmt.Fprintf(table, "\t%s", run.Policy)
		fmt.Fprint(table, strings.Repeat("\t", len(run.Models)))
	}
	fmt.Fprintln(table)
	for _, run := range r.Runs {
		for _, m := range run.Models {
			fmt.Fprintf(table, "\t%s", m.ID)
		}
		fmt.Fprint(table, "\tall")
	}
	fmt.Fprintln(table)
	fmt.Fprint(table, "Part of the limit")
	for _, run := range r.Runs {
		for _, m := range run.Models {
			fmt.Fprintf(table, "\t%s", shareText(m))
		}
		fmt.Fprintf(table, "\t%s", formatBytes(r.LimitBytes))
	}
	fmt.Fprintln(table)
	for _, f := range shownFigures(r) {
		fmt.Fprint(table, f.Name)
		for i := range r.Runs {
			run := &r.Runs[i]
			for j := range run.Models {
				fmt.Fprintf(table, "\t%s", f.text(&run.Models[j].Usage))
			}
			fmt.Fprintf(table, "\t%s", f.text(&run.Usage))
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if text := verdict(r); text != "" {
		fmt.Fprintf(out, "\n%s\n", text)
	}
	if reportPath != "" {
		fmt.Fprintf(out, "\nReport: %s\n", reportPath)
	}
	return nil
}

// shareText returns a model's own part of the limit.
func shareText(m replay.ModelRun) string {
	switch {
	case m.ShareBytes > 0:
		return formatBytes(m.ShareBytes)
	case m.GuaranteedBytes > 0:
		return "≥ " + formatBytes(m.GuaranteedBytes)
	}
	return "any"
}

func printLimits(out io.Writer, r *replay.LimitsResult) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "Smallest limit at which each of %d requests is served, in pages of %s\t\t\n", r.Requests, formatBytes(r.PageBytes))
	for _, m := range r.Models {
		fmt.Fprintf(table, "  %s alone\t%s\t%d B\n", m.ID, formatBytes(m.LimitBytes), m.LimitBytes)
	}
	fmt.Fprintf(table, "  static split, equal parts\t%s\t%d B\n", formatBytes(r.EqualLimitBytes), r.EqualLimitBytes)
	fmt.Fprintf(table, "  static split, each as much as it needs\t%s\t%d B\n", formatBytes(r.StaticLimitBytes), r.StaticLimitBytes)
	fmt.Fprintf(table, "  elastic\t%s\t%d B\n", formatBytes(r.ElasticLimitBytes), r.ElasticLimitBytes)
	fmt.Fprintf(table, "Elastic ÷ static\t%s\t\n", formatRatio(r.ElasticOverStatic))
	fmt.Fprintf(table, "Elastic ÷ peak live\t%s\t\n", formatRatio(r.ElasticOverPeak))
	return table.Flush()
}
