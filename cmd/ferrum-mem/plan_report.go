package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/plan"
)

// namedBuffer is a buffer with its name in what it comes from.
type namedBuffer struct {
	id string
	plan.Buffer
}

// planReport is a plan for people and programs, whatever its buffers come from.
type planReport struct {
	// Name is the file or the model of the buffers.
	Name            string `json:"name"`
	ArenaBytes      uint64 `json:"arena_bytes"`
	PeakBytes       uint64 `json:"peak_bytes"`
	LowerBoundBytes uint64 `json:"lower_bound_bytes"`
	GreedyBytes     uint64 `json:"greedy_bytes"`
	// LimitBytes is 0 without a limit. Fits is true then.
	LimitBytes uint64 `json:"limit_bytes"`
	Fits       bool   `json:"fits"`
	// Optimal: no smaller arena is possible.
	Optimal    bool   `json:"optimal"`
	Steps      uint64 `json:"steps"`
	DurationNS int64  `json:"duration_ns"`
	// Model is nil for a file of lifetimes.
	Model   *modelReport    `json:"model,omitempty"`
	Buffers []plannedBuffer `json:"buffers"`
}

type plannedBuffer struct {
	ID             string `json:"id"`
	Lower          int64  `json:"lower"`
	Upper          int64  `json:"upper"`
	SizeBytes      uint64 `json:"size_bytes"`
	AlignmentBytes uint64 `json:"alignment_bytes"`
	OffsetBytes    uint64 `json:"offset_bytes"`
}

func newPlanReport(name string, named []namedBuffer, o plan.Options, p *plan.Placement, took time.Duration) *planReport {
	r := &planReport{
		Name: name, ArenaBytes: p.ArenaBytes, PeakBytes: p.PeakBytes, LowerBoundBytes: p.LowerBoundBytes, GreedyBytes: p.GreedyBytes,
		LimitBytes: o.LimitBytes, Fits: o.LimitBytes == 0 || p.ArenaBytes <= o.LimitBytes, Optimal: p.Optimal(), Steps: p.Steps,
		DurationNS: took.Nanoseconds(), Buffers: make([]plannedBuffer, len(named)),
	}
	for i, b := range named {
		r.Buffers[i] = plannedBuffer{b.id, b.Lower, b.Upper, b.SizeBytes, max(b.AlignmentBytes, 1), p.OffsetsBytes[i]}
	}
	return r
}

// facts lists the figures of a plan, for the table and the picture.
func (r *planReport) facts() []fact {
	limit := "none"
	if r.LimitBytes > 0 {
		limit = device.Size(r.LimitBytes).String()
	}
	facts := []fact{
		{"name", "Buffers of", r.Name},
		{"buffers", "Buffers", strconv.Itoa(len(r.Buffers))},
		{"arena_bytes", "Arena", device.Size(r.ArenaBytes).String()},
		{"limit_bytes", "Limit", limit},
		{"lower_bound_bytes", "Smallest possible, at least", device.Size(r.LowerBoundBytes).String()},
		{"peak_bytes", "Live at one time, at most", device.Size(r.PeakBytes).String()},
		{"greedy_bytes", "Arena without a search", device.Size(r.GreedyBytes).String()},
		{"steps", "Search", device.Count(r.Steps, "step")},
		{"duration_ns", "Time", time.Duration(r.DurationNS).Round(10 * time.Microsecond).String()},
	}
	if r.Model != nil {
		facts = append(facts, r.Model.facts()...)
	}
	return facts
}

// verdict states in one sentence how good the plan is.
func (r *planReport) verdict() string {
	switch {
	case !r.Fits && r.LowerBoundBytes > r.LimitBytes:
		return fmt.Sprintf("The buffers do not fit: no arena is smaller than %v.", device.Size(r.LowerBoundBytes))
	case !r.Fits && r.Model != nil:
		return "The arena of the model does not fit."
	case r.Model != nil && !r.Optimal:
		return "The model runs in this arena. A smaller one may be possible."
	case !r.Fits:
		return "No arena within the limit was found." + r.outlook()
	case r.Optimal:
		return "No smaller arena is possible."
	case r.LimitBytes > 0:
		return "The buffers fit. A smaller arena may be possible."
	}
	return "A smaller arena may be possible." + r.outlook()
}

// outlook states whether more time can help.
func (r *planReport) outlook() string {
	if r.Steps == 0 && len(r.Buffers) > plan.MaxSearched {
		return " There are too many buffers for a search."
	}
	return " A longer search may find one."
}

// fullest returns the buffers that live at the first moment at which most bytes live, the
// largest first, and the moment.
func (r *planReport) fullest() (at int64, live []plannedBuffer) {
	begins, ends := make([]plannedBuffer, len(r.Buffers)), make([]plannedBuffer, len(r.Buffers))
	copy(begins, r.Buffers)
	copy(ends, r.Buffers)
	slices.SortFunc(begins, func(a, b plannedBuffer) int { return cmp.Compare(a.Lower, b.Lower) })
	slices.SortFunc(ends, func(a, b plannedBuffer) int { return cmp.Compare(a.Upper, b.Upper) })
	var sum, most uint64
	ended := 0
	for _, b := range begins {
		for ; ends[ended].Upper <= b.Lower; ended++ {
			sum -= ends[ended].SizeBytes
		}
		if sum += b.SizeBytes; sum > most {
			most, at = sum, b.Lower
		}
	}
	for _, b := range r.Buffers {
		if b.Lower <= at && at < b.Upper {
			live = append(live, b)
		}
	}
	slices.SortStableFunc(live, func(a, b plannedBuffer) int { return cmp.Compare(b.SizeBytes, a.SizeBytes) })
	return at, live
}

// shownBuffers is the number of buffers in the table.
const shownBuffers = 10

// printPlan prints the table of a plan. picture is the path of the picture, or "".
func printPlan(out io.Writer, r *planReport, picture string) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range r.facts() {
		fmt.Fprintf(table, "%s\t%s\n", f.Name, f.Text)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n", r.verdict())
	if at, live := r.fullest(); len(live) > 0 {
		fmt.Fprintf(out, "\nMost bytes live at time %d, in %s:\n", at, device.Count(len(live), "buffer"))
		right := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(right, "size\toffset\tfrom\tuntil\tbuffer\t")
		for _, b := range live[:min(shownBuffers, len(live))] {
			fmt.Fprintf(right, "%s\t%d\t%d\t%d\t%s\t\n", formatBytes(b.SizeBytes), b.OffsetBytes, b.Lower, b.Upper, plainName(b.ID))
		}
		if err := right.Flush(); err != nil {
			return err
		}
		if more := len(live) - shownBuffers; more > 0 {
			fmt.Fprintf(out, "… and %d smaller; --json lists all\n", more)
		}
	}
	if picture != "" {
		_, err := fmt.Fprintf(out, "\nPicture: %s\n", picture)
		return err
	}
	return nil
}

// plainName returns a name from a file for one line of a table: quoted if it has characters
// that a terminal does not print, and cut to a readable length.
func plainName(name string) string {
	const most = 40
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:most]) + "…"
	}
	if quoted := strconv.Quote(name); quoted[1:len(quoted)-1] != name {
		return quoted
	}
	return name
}
