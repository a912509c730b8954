package main

import (
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"ferrum_mem/core/library"
	"ferrum_mem/core/replay"
)

// The report of several models has one chart for each policy: the physical memory of the
// models, stacked, against the limit. It has no script.

//go:embed report_models.html
var modelsTemplate string

//go:embed report_models.css
var modelsStyle string

// modelColours is the number of colours in the style sheet. Further models reuse them.
const modelColours = 6

type modelsPage struct {
	Title, Headline, Verdict, Version, Written string
	Style                                      template.CSS
	Result                                     *replay.ModelsResult
	Models                                     []modelsLegend
	Policies                                   []policyPlot
	Figures                                    []modelsRow
}

type modelsLegend struct {
	replay.ModelInput
	Class string
}

// policyPlot is the chart of one policy.
type policyPlot struct {
	Run    *replay.PolicyRun
	Memory plot
	Failed plot
}

// modelsRow is one figure under each policy, for each model and for all.
type modelsRow struct {
	Name  string
	Cells []modelsCell
}

// modelsCell identifies its place in the JSON.
type modelsCell struct{ Policy, Model, Field, Text string }

func modelClass(i int) string { return fmt.Sprintf("model-%d", i%modelColours) }

func writeModelsReport(ctx context.Context, s streams, path string, r *replay.ModelsResult) error {
	return writeShowing(ctx, s, path, func(w io.Writer) error { return renderModelsReport(w, r) })
}

func renderModelsReport(w io.Writer, r *replay.ModelsResult) error {
	t, err := newPage(modelsTemplate, template.FuncMap{
		"bytes": formatBytes, "inc": func(n int) int { return n + 1 },
		"time": func(at int64) string { return formatTime(at, r.TimeUnit) },
	})
	if err != nil {
		return err
	}
	p := modelsPage{
		Title: fmt.Sprintf("Replay of %d models", len(r.Models)), Headline: modelsHeadline(r), Verdict: verdict(r),
		Version: library.Version, Written: time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		Style: template.CSS(reportStyle + modelsStyle), Result: r,
	}
	for i, m := range r.Models {
		p.Models = append(p.Models, modelsLegend{m, modelClass(i)})
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		p.Policies = append(p.Policies, policyPlot{
			run, plot{"memory-" + string(run.Policy), modelsChart(r, run)}, plot{"failed-" + string(run.Policy), failedChart(r, run)},
		})
	}
	for _, f := range shownFigures(r) {
		row := modelsRow{Name: f.Name}
		for i := range r.Runs {
			run := &r.Runs[i]
			for j := range run.Models {
				m := &run.Models[j]
				row.Cells = append(row.Cells, modelsCell{string(run.Policy), m.ID, f.Field, f.text(&m.Usage)})
			}
			row.Cells = append(row.Cells, modelsCell{string(run.Policy), "", f.Field, f.text(&run.Usage)})
		}
		p.Figures = append(p.Figures, row)
	}
	return t.Execute(w, p)
}

// modelsChart stacks the models' physical memory: each model is a band above the ones
// before it. A bar shows the interval in which all models together used most. All policies
// have the same scale.
func modelsChart(r *replay.ModelsResult, run *replay.PolicyRun) chart {
	top := r.LimitBytes
	for _, other := range r.Runs {
		top = max(top, other.PhysicalPeakBytes, other.ReservedPeakBytes)
	}
	yTicks, yTop := byteTicks(top)
	c := chart{X: modelsTimeTicks(r, run), Y: yTicks}
	bars := fullest(run.Series.Models)
	c.Lines = stack(run.Series.Models, yTop, func(m replay.ModelSeries, at int) uint64 { return m.PhysicalBytes[bars[at]] })
	c.Lines = append(c.Lines, line{"limit", steps([]float64{float64(r.LimitBytes) / yTop})})
	return c
}

// fullest returns for each interval the interval of the same bar in which the models
// together used most.
func fullest(models []replay.ModelSeries) []int {
	total := make([]uint64, len(models[0].PhysicalBytes))
	for _, m := range models {
		for at, v := range m.PhysicalBytes {
			total[at] += v
		}
	}
	out := make([]int, len(total))
	size := perColumn(len(total), modelColumns)
	for first := 0; first < len(total); first += size {
		last := min(first+size, len(total))
		most := first
		for at := first; at < last; at++ {
			if total[at] > total[most] {
				most = at
			}
		}
		for at := first; at < last; at++ {
			out[at] = most
		}
	}
	return out
}

// stack draws a band for each model, one above the other.
func stack(models []replay.ModelSeries, top float64, value func(m replay.ModelSeries, at int) uint64) []line {
	lower := make([]uint64, len(models[0].PhysicalBytes))
	var lines []line
	for i, m := range models {
		upper := slices.Clone(lower)
		for at := range upper {
			upper[at] += value(m, at)
		}
		lines = append(lines, line{modelClass(i), band(scaled(lower, top), scaled(upper, top))})
		lower = upper
	}
	return lines
}

// failedChart stacks the failures of each bar. All policies have the same scale.
func failedChart(r *replay.ModelsResult, run *replay.PolicyRun) chart {
	var most uint64
	for _, other := range r.Runs {
		for at := range other.Series.Time {
			n := uint64(0)
			for _, m := range other.Series.Models {
				n += failedInBar(m, at)
			}
			most = max(most, n)
		}
	}
	ticks, top := countTicks(most)
	return chart{X: modelsTimeTicks(r, run), Y: ticks, Lines: stack(run.Series.Models, top, failedInBar)}
}

// failedInBar returns how many requests of a model failed in the intervals of the same bar.
func failedInBar(m replay.ModelSeries, at int) uint64 {
	size := perColumn(len(m.Failed), modelColumns)
	first := at / size * size
	var sum uint64
	for _, n := range m.Failed[first:min(first+size, len(m.Failed))] {
		sum += n
	}
	return sum
}

func modelsTimeTicks(r *replay.ModelsResult, run *replay.PolicyRun) []tick {
	return timeTicks(&replay.Result{
		TimeUnit: r.TimeUnit, Series: replay.Series{Interval: run.Series.Interval, Time: run.Series.Time},
	})
}
