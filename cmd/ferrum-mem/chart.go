package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ferrum_mem/core/replay"
)

// A chart is drawn in a box of chartWidth × chartHeight, which the page stretches to the
// available size. Labels are text of the page beside the box, so they keep their size on a
// phone.
const (
	chartWidth  = 1000.0
	chartHeight = 300.0
	// memoryColumns and modelColumns are the maximum number of bars of a chart. A bar is
	// then wider than a pixel and needs no border, which would cover its neighbour.
	memoryColumns = 500
	modelColumns  = 250
)

type chart struct {
	Lines []line
	// X and Y are the ticks, from the left and from the bottom.
	X, Y []tick
}

// line is one series with one step for each interval.
type line struct {
	// Class is the name of the series in the style sheet and the legend.
	Class string
	Path  string
}

// tick is a labelled position on an axis, in percent of its length.
type tick struct {
	Percent float64
	Label   string
}

// charts returns the memory over time, the share of reserved memory that is not live, and
// the failures.
func charts(r *replay.Result) (memory, unused, failed chart) {
	s := r.Series
	top := max(r.ReservedPeakBytes, r.PhysicalPeakBytes, r.PeakLiveBytes, r.LimitBytes)
	yTicks, yTop := byteTicks(top)
	xTicks := timeTicks(r)
	// Live is drawn in front of reserved and is never larger.
	memory = chart{X: xTicks, Y: yTicks, Lines: []line{
		{"reserved", area(highest(scaled(s.ReservedBytes, yTop), memoryColumns))},
		{"live", area(highest(scaled(s.LiveBytes, yTop), memoryColumns))},
	}}
	if r.LimitBytes > 0 {
		memory.Lines = append(memory.Lines, line{"limit", steps([]float64{float64(r.LimitBytes) / yTop})})
	}

	share := make([]float64, len(s.Time))
	for i := range share {
		if s.ReservedBytes[i] > 0 {
			share[i] = 1 - float64(s.LiveBytes[i])/float64(s.ReservedBytes[i])
		}
	}
	unused = chart{X: xTicks, Lines: []line{{"unused", area(highest(share, memoryColumns))}}}
	for percent := 0.0; percent <= 100; percent += 25 {
		unused.Y = append(unused.Y, tick{percent, fmt.Sprintf("%.0f %%", percent)})
	}

	var most uint64
	for _, n := range s.Failed {
		most = max(most, n)
	}
	countTicks, countTop := countTicks(most)
	failed = chart{X: xTicks, Y: countTicks, Lines: []line{{"failed", area(highest(scaled(s.Failed, countTop), memoryColumns))}}}
	return memory, unused, failed
}

func scaled(values []uint64, top float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v) / top
	}
	return out
}

// perColumn returns how many intervals one bar of a chart shows.
func perColumn(intervals, columns int) int { return (intervals + columns - 1) / columns }

// highest replaces each value by the highest value of its bar.
func highest(values []float64, columns int) []float64 {
	out := make([]float64, 0, len(values))
	for bar := range slices.Chunk(values, perColumn(len(values), columns)) {
		most := slices.Max(bar)
		for range bar {
			out = append(out, most)
		}
	}
	return out
}

// steps draws one horizontal line for each value, which is a share of the height.
func steps(shares []float64) string {
	var b strings.Builder
	width := chartWidth / float64(len(shares))
	for i, share := range shares {
		if i == 0 {
			fmt.Fprintf(&b, "M0,%s", coordinate(chartHeight*(1-share)))
		} else if share != shares[i-1] {
			fmt.Fprintf(&b, "V%s", coordinate(chartHeight*(1-share)))
		} else {
			continue
		}
		end := i + 1
		for end < len(shares) && shares[end] == share {
			end++
		}
		fmt.Fprintf(&b, "H%s", coordinate(width*float64(end)))
	}
	return b.String()
}

// area draws steps, closed along the bottom.
func area(shares []float64) string {
	return steps(shares) + fmt.Sprintf("V%sH0Z", coordinate(chartHeight))
}

// band draws the area between two rows of steps, so that the area below stays visible.
func band(lower, upper []float64) string {
	var b strings.Builder
	b.WriteString(steps(upper))
	width := chartWidth / float64(len(lower))
	for i, share := range slices.Backward(lower) {
		fmt.Fprintf(&b, "V%sH%s", coordinate(chartHeight*(1-share)), coordinate(width*float64(i)))
	}
	return b.String() + "Z"
}

func coordinate(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

// niceStep returns 1, 2 or 5 times a power of ten, so that about want steps make up span.
func niceStep(span, want float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(span/want)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power*want >= span {
			return factor * power
		}
	}
	return 10 * power
}

// byteTicks labels an axis in whole steps of one unit. The last tick is the top.
func byteTicks(most uint64) ([]tick, float64) {
	unit, name := 1.0, "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if float64(most) < 1024*unit {
			break
		}
		unit, name = unit*1024, next
	}
	span := math.Max(float64(most)/unit, 1)
	step := niceStep(span, 5)
	return ticks(step, math.Ceil(span/step), name), math.Ceil(span/step) * step * unit
}

func countTicks(most uint64) ([]tick, float64) {
	span := math.Max(float64(most), 1)
	step := math.Max(niceStep(span, 3), 1)
	return ticks(step, math.Ceil(span/step), ""), math.Ceil(span/step) * step
}

func ticks(step, count float64, unit string) []tick {
	var out []tick
	for i := 0.0; i <= count; i++ {
		label := strconv.FormatFloat(math.Round(i*step*1e6)/1e6, 'f', -1, 64)
		if unit != "" && i > 0 {
			label += " " + unit
		}
		out = append(out, tick{100 * i / count, label})
	}
	return out
}

// timeTicks labels the time axis, which ends with the last interval.
func timeTicks(r *replay.Result) []tick {
	return timeRange{r.Series.Time[0], r.Series.Interval * int64(len(r.Series.Time)), r.TimeUnit}.ticks()
}

// timeRange is the time from the left to the right edge of a picture.
type timeRange struct {
	first, span int64
	// unit is "ns", or another word for plain numbers.
	unit string
}

func (t timeRange) ticks() []tick {
	first, span := float64(t.first), float64(t.span)
	unit, name := 1.0, ""
	step := niceStep(span, 6)
	if t.unit == "ns" {
		unit, name = timeUnit(span)
		step = niceStep(span/unit, 6) * unit
		if unit >= 60e9 {
			step = clockStep(span/unit) * unit
		}
	}
	var out []tick
	for at := math.Ceil(first/step) * step; at <= first+span; at += step {
		label := strconv.FormatFloat(math.Round(at/unit*1e6)/1e6, 'f', -1, 64)
		if name != "" && at > 0 {
			label += " " + name
		}
		out = append(out, tick{100 * (at - first) / span, label})
	}
	return out
}

func timeUnit(span float64) (float64, string) {
	switch {
	case span >= 4*3600e9:
		return 3600e9, "h"
	case span >= 4*60e9:
		return 60e9, "min"
	case span >= 2e9:
		return 1e9, "s"
	case span >= 2e6:
		return 1e6, "ms"
	case span >= 2e3:
		return 1e3, "µs"
	}
	return 1, "ns"
}

// clockStep returns a step that is usual for clocks, in minutes or hours.
func clockStep(span float64) float64 {
	for _, step := range []float64{1, 2, 5, 10, 15, 30, 60} {
		if span/step <= 7 {
			return step
		}
	}
	return niceStep(span, 6)
}
