package main

import (
	"fmt"
	"math"
	"strings"

	"ferrum_mem/core/replay"
)

// The map of addresses is drawn in a square of mapSide units, which the page stretches
// and of which its script shows a part. A browser keeps coordinates of that size exactly.
const mapSide = 1_000_000

// mapColours is how many the style sheet has; further requests take them again.
const mapColours = 6

// mapPlot is the map of addresses over time.
type mapPlot struct {
	chart
	// TopBytes is the address at the upper edge; the lower one is 0. FirstTime and
	// LastTime are the times at the left and the right edge.
	TopBytes            uint64
	FirstTime, LastTime int64
	LeftOut             int
	Shown               string
}

func addressMapPlot(r *replay.Result) mapPlot {
	m := r.AddressMap
	yTicks, top := byteTicks(m.RangeBytes)
	first := r.Series.Time[0]
	span := r.Series.Interval * int64(len(r.Series.Time))
	paths := make([]strings.Builder, mapColours)
	for _, block := range m.Rectangles {
		left, right := mapUnits(float64(block.From-first)/float64(span)), mapUnits(float64(block.To-first)/float64(span))
		low := mapUnits(float64(block.OffsetBytes) / top)
		high := mapUnits(float64(block.OffsetBytes+block.SizeBytes) / top)
		width, height := max(right-left, 1), max(high-low, 1)
		fmt.Fprintf(&paths[block.Request%mapColours], "M%d %dh%dv%dh-%dz", left, mapSide-low-height, width, height, width)
	}
	p := mapPlot{
		chart: chart{X: timeTicks(r), Y: yTicks}, TopBytes: uint64(top), FirstTime: first, LastTime: first + span,
		LeftOut: m.LeftOut, Shown: fmt.Sprintf("%.1f %%", 100*m.ShownShare),
	}
	for i := range paths {
		p.Lines = append(p.Lines, line{fmt.Sprintf("block-%d", i), paths[i].String()})
	}
	return p
}

func mapUnits(share float64) int { return int(math.Round(share * mapSide)) }
