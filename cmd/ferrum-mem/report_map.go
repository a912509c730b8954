package main

import (
	"fmt"
	"math"
	"strings"

	"ferrum_mem/core/replay"
)

// The address map is drawn in a square of mapSide units. The page stretches it and its
// script shows a part of it. A browser stores coordinates of that size exactly.
const mapSide = 1_000_000

// mapColours is the number of colours in the style sheet. Further requests reuse them.
const mapColours = 6

// mapPlot is the address map over time.
type mapPlot struct {
	chart
	// TopBytes is the address at the upper edge; the address at the lower edge is 0.
	// FirstTime and LastTime are the times at the left and right edges.
	TopBytes            uint64
	FirstTime, LastTime int64
	LeftOut             int
	Shown               string
}

func addressMapPlot(r *replay.Result) mapPlot {
	m := r.AddressMap
	rectangles := make([]rectangle, len(m.Rectangles))
	for i, block := range m.Rectangles {
		rectangles[i] = rectangle{block.From, block.To, block.OffsetBytes, block.SizeBytes, int(block.Request)}
	}
	p := drawMap(rectangles, m.RangeBytes, timeRange{r.Series.Time[0], r.Series.Interval * int64(len(r.Series.Time)), r.TimeUnit})
	p.LeftOut, p.Shown = m.LeftOut, fmt.Sprintf("%.1f %%", 100*m.ShownShare)
	return p
}

// rectangle is a block of memory in the map.
type rectangle struct {
	from, to               int64
	offsetBytes, sizeBytes uint64
	// colour is any number from 0 on.
	colour int
}

// drawMap draws blocks in a range of addresses over a range of time.
func drawMap(rectangles []rectangle, rangeBytes uint64, time timeRange) mapPlot {
	yTicks, top := byteTicks(rangeBytes)
	span := float64(time.span)
	paths := make([]strings.Builder, mapColours)
	for _, block := range rectangles {
		left, right := mapUnits(float64(block.from-time.first)/span), mapUnits(float64(block.to-time.first)/span)
		low := mapUnits(float64(block.offsetBytes) / top)
		high := mapUnits(float64(block.offsetBytes+block.sizeBytes) / top)
		width, height := max(right-left, 1), max(high-low, 1)
		fmt.Fprintf(&paths[block.colour%mapColours], "M%d %dh%dv%dh-%dz", left, mapSide-low-height, width, height, width)
	}
	p := mapPlot{chart: chart{X: time.ticks(), Y: yTicks}, TopBytes: uint64(top), FirstTime: time.first, LastTime: time.first + time.span}
	for i := range paths {
		p.Lines = append(p.Lines, line{fmt.Sprintf("block-%d", i), paths[i].String()})
	}
	return p
}

func mapUnits(share float64) int { return int(math.Round(share * mapSide)) }
