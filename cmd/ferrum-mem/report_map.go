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
