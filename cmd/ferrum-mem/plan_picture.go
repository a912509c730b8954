package main

import (
	"cmp"
	"context"
	_ "embed"
	"html/template"
	"io"
	"slices"
	"time"

	"ferrum_mem/core/library"
)

// The picture of a plan is one page without external resources, made of the parts of the
// report of a replay. The map of addresses works without a script, which only zooms, and
// names the buffer at a point.

//go:embed plan.html
var planTemplate string

//go:embed plan.js
var planScript string

// pictureBuffers is the number of buffers in the table of the page. The page contains the
// JSON, which has all of them.
const pictureBuffers = 200

type planPage struct {
	Title, Verdict, Version, Written string
	Style                            template.CSS
	Script                           template.JS
	Result                           *planReport
	Facts                            []fact
	Map                              mapPlot
	// Largest are the largest buffers, and LeftOut the number of others.
	Largest []plannedBuffer
	LeftOut int
}

// writePlanPicture writes the picture of a plan.
func writePlanPicture(ctx context.Context, s streams, path string, r *planReport) error {
	return writeShowing(ctx, s, path, func(w io.Writer) error { return renderPlan(w, r) })
}

func renderPlan(w io.Writer, r *planReport) error {
	t, err := newPage(planTemplate, template.FuncMap{"bytes": formatBytes})
	if err != nil {
		return err
	}
	p := planPage{
		Title: "Plan of " + r.Name, Verdict: r.verdict(), Version: library.Version,
		Written: time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		Style:   template.CSS(reportStyle), Script: template.JS(formatScript + planScript + mapScript),
		Result: r, Facts: r.facts(), Map: r.plot(), Largest: slices.Clone(r.Buffers),
	}
	slices.SortStableFunc(p.Largest, func(a, b plannedBuffer) int { return cmp.Compare(b.SizeBytes, a.SizeBytes) })
	if len(p.Largest) > pictureBuffers {
		p.Largest, p.LeftOut = p.Largest[:pictureBuffers], len(p.Largest)-pictureBuffers
	}
	return t.Execute(w, p)
}

// plot draws the buffers: their times from left to right, their addresses upwards.
func (r *planReport) plot() mapPlot {
	rectangles := make([]rectangle, len(r.Buffers))
	var first, last int64
	for i, b := range r.Buffers {
		rectangles[i] = rectangle{b.Lower, b.Upper, b.OffsetBytes, b.SizeBytes, i}
		if i == 0 {
			first, last = b.Lower, b.Upper
		}
		first, last = min(first, b.Lower), max(last, b.Upper)
	}
	return drawMap(rectangles, r.ArenaBytes, timeRange{first, max(last-first, 1), "step"})
}
