package model

import (
	"errors"
	"math"
	"slices"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
)

// The choice of loops: where tiles make the arena smaller.
//
// The search looks at the step during which most bytes are live. For each dimension of its output it finds the
// steps around it that can run tile by tile, and ends the loop on both sides where the fewest bytes are live:
// these values are whole. It tries some numbers of tiles, and keeps the loop that leaves the fewest bytes live. Then
// it looks at the step during which most bytes are live now, until that step is in a loop, or no loop helps. The
// engine decides how small a part may be (compute.Divider).

// tileRule bounds the choice. The numbers do not depend on the machine, so a shape has the same plan everywhere
// with the same engine.
type tileRule struct {
	// leastArenaBytes is how large an arena is that is worth a search. A smaller one fits into the cache.
	leastArenaBytes uint64
	// leastTileBytes is the size of the largest value of a tile, at least. The fixed cost of a step, about 0.1 µs,
	// is then a small part of the time that a tile takes.
	leastTileBytes uint64
	// mostTiles is how many tiles a loop has at most. More would not make the whole values smaller.
	mostTiles int64
	// A loop saves at least one part in leastGain of the live bytes, and all loops together leastGainOfAll.
	leastGain, leastGainOfAll uint64
	// mostSteps bounds the search by the number of steps of all drafts that it makes.
	mostSteps int
}

// standardRule returns the rule of builds.
func standardRule() *tileRule {
	return &tileRule{
		leastArenaBytes: 256 << 10, leastTileBytes: 64 << 10, mostTiles: 16, leastGain: 16, leastGainOfAll: 10,
		mostSteps: 1 << 18,
	}
}

// tilesOf returns the numbers of tiles that are tried for a length, the smallest first: the most tiles that are not
// shorter than a sixteenth of it, an eighth and so on.
func (r *tileRule) tilesOf(length int64) []int64 {
	var list []int64
	for each := (length-1)/r.mostTiles + 1; each <= length/2; each *= 2 {
		list = append(list, length/each)
	}
	slices.Reverse(list)
	return list
}

// chooser searches for the loops of one shape.
type chooser struct {
	whole *whole
	flow  *flow
	rule  *tileRule
	// lastReader has for each buffer of the whole draft the last node that reads it, or the number of nodes for an
	// output of the model.
	lastReader []int
	// liveBefore has for each node how many bytes of whole values are live before it. The last element is after all
	// nodes.
	liveBefore []uint64
	// parts has the predictions of each node for inputs of tiles, and accepted the results of accepts.
	parts    [][]partOfNode
	accepted map[partKey]bool
	loops    []loop
	// steps counts those of all drafts, and failed is an error that has nothing to do with parts.
	steps  int
	failed error
}

// partOfNode is a prediction; nil: the engine cannot compute it.
type partOfNode struct {
	inputs []compute.Operand
	*backend.Prediction
}

type partKey struct {
	node, group int
	count       int64
}

// tiled returns the draft with the loops that are chosen, whose values share buffers. Errors: those of the
// engine that have nothing to do with parts.
func tiled(w *whole, rule *tileRule) (*draft, error) {
	c := &chooser{whole: w, rule: rule}
	best, _ := c.assemble(nil)
	best.share()
	if rule == nil {
		return best, nil
	}
	untiled, before := best, slices.Max(best.live())
	if before < rule.leastArenaBytes {
		return best, nil
	}
	c.flow, c.parts, c.accepted = flowOf(w), make([][]partOfNode, len(w.program.nodes)), map[partKey]bool{}
	c.findLives()
	for c.steps < rule.mostSteps {
		next := c.improve(best)
		if c.failed != nil {
			return nil, c.failed
		}
		if next == nil {
			break
		}
		best = next
	}
	if after := slices.Max(best.live()); after >= before-before/rule.leastGainOfAll {
		return untiled, nil
	}
	return best, nil
}

// live returns how many bytes are live at each time.
func (d *draft) live() []uint64 {
	live := make([]uint64, len(d.steps)+3)
	for i := range d.buffers {
		b := &d.buffers[i]
		live[b.first] += up(b.sizeBytes, bufferAlignmentBytes)
		live[b.last+1] -= up(b.sizeBytes, bufferAlignmentBytes)
	}
	for time := 1; time < len(live); time++ {
		live[time] += live[time-1]
	}
	return live[:len(d.steps)+2]
}

// findLives finds the last readers, and what is live between the nodes.
func (c *chooser) findLives() {
	w := c.whole
	nodes := len(w.program.nodes)
	nodeAt := func(time int) int {
		switch {
		case time == 0:
			return -1
		case time > len(w.steps):
			return nodes
		}
		return w.steps[time-1].node
	}
	c.lastReader, c.liveBefore = make([]int, len(w.buffers)), make([]uint64, nodes+2)
	for i := range w.buffers {
		b := &w.buffers[i]
		made, read := nodeAt(b.first), nodeAt(b.last)
		c.lastReader[i] = read
		c.liveBefore[made+1] += b.sizeBytes
		c.liveBefore[read+1] -= b.sizeBytes
	}
	for at := 1; at <= nodes; at++ {
		c.liveBefore[at] += c.liveBefore[at-1]
	}
}

// isReadAfter states whether a node after another one, or the caller, reads a value or a view of it.
func (c *chooser) isReadAfter(value, node int) bool {
	return c.lastReader[c.whole.places[value].buffer] > node
}

// improve returns a draft in which fewer bytes are live at the worst time; nil: none was found.
func (c *chooser) improve(now *draft) *draft {
	live := now.live()
	most := slices.Max(live)
	time := slices.Index(live, most)
	if time == 0 || time > len(now.steps) || now.steps[time-1].loop >= 0 {
		return nil
	}
	at := now.steps[time-1].node
	least := most - most/c.rule.leastGain
	var best *draft
	var chosen []loop
	for _, group := range c.groupsOf(at) {
		for _, tiles := range c.rule.tilesOf(c.flow.units[group]) {
			loops := c.with(at, group, tiles)
			if loops == nil {
				continue
			}
			made, isPossible := c.assemble(loops)
			c.steps += len(c.whole.steps)
			if !isPossible {
				continue
			}
			made.share()
			if peak := made.peakAround(at); peak < least {
				best, chosen, least = made, loops, peak-peak/c.rule.leastGain
			}
		}
	}
	if best != nil {
		c.loops = chosen
	}
	return best
}

// groupsOf returns the groups of the first output of a node, from the first dimension on.
func (c *chooser) groupsOf(at int) []int {
	var groups []int
	for _, value := range c.whole.program.nodes[at].outputs {
		if value < 0 {
			continue
		}
		for axis := range c.whole.places[value].layout.Shape() {
			group := c.flow.groupOf(value, axis)
			if c.flow.units[group] > 1 && !slices.Contains(groups, group) {
				groups = append(groups, group)
			}
		}
		break
	}
	return groups
}

// peakAround returns how many bytes are live at most during the steps of the loop that has a node.
func (d *draft) peakAround(node int) uint64 {
	live := d.live()
	for _, s := range d.loops {
		if s.first <= node && node <= s.last {
			return slices.Max(live[s.from+1 : s.end+1])
		}
	}
	return slices.Max(live)
}

// predict predicts a node for inputs of a tile; nil: the engine does not compute that.
func (c *chooser) predict(at int, inputs []compute.Operand) *backend.Prediction {
	same := func(a, b compute.Operand) bool {
		return a.IsAbsent == b.IsAbsent && a.Type == b.Type && a.Layout == b.Layout && a.Packing == b.Packing && slices.Equal(a.Known, b.Known)
	}
	for i := range c.parts[at] {
		if known := &c.parts[at][i]; slices.EqualFunc(known.inputs, inputs, same) {
			return known.Prediction
		}
	}
	n := &c.whole.program.nodes[at]
	made, err := n.op.Predict(inputs, n.wanted)
	if err != nil {
		made = nil
		isAboutInputs := slices.ContainsFunc([]device.Code{device.CodeUnsupported, device.CodeInvalidArgument, device.CodeOverflow},
			func(code device.Code) bool { return errors.Is(err, code) })
		if !isAboutInputs && c.failed == nil {
			c.failed = device.Errorf(device.CodeOf(err), opPlan, "node %q: %w", n.id, err)
		}
	}
	c.parts[at] = append(c.parts[at], partOfNode{inputs, made})
	return made
}

// isPart states whether a prediction is that of a part of a node: some units of its group.
func (c *chooser) isPart(s *loop, at int, part *backend.Prediction, count int64) bool {
	all, axis := c.whole.predicted[at], c.flow.roleOf(at, s.group).axis
	for i := range all.Outputs {
		want, got := &all.Outputs[i], &part.Outputs[i]
		if want.IsAbsent != got.IsAbsent || want.Type != got.Type {
			return false
		}
		if want.IsAbsent {
			continue
		}
		layout, err := s.partOf(want.Layout, axis, 0, count)
		if err != nil || !slices.Equal(layout.Shape(), got.Layout.Shape()) {
			return false
		}
	}
	return c.whole.isView[at] || all.Divides(part)
}

// accepts states whether a node can compute parts of a group. It takes the inputs as parts of whole values; the
// strides may be others in the loop.
func (c *chooser) accepts(s *loop, at int) bool {
	r := c.flow.roleOf(at, s.group)
	if r == nil {
		return false
	}
	sizes := s.sizes()
	count := sizes[len(sizes)-1]
	key := partKey{at, s.group, count}
	if known, isKnown := c.accepted[key]; isKnown {
		return known
	}
	n := &c.whole.program.nodes[at]
	inputs := make([]compute.Operand, len(n.inputs))
	isPossible := true
	for i, in := range n.inputs {
		switch in.kind {
		case absent:
			inputs[i].IsAbsent = true
		case ofParameter:
			inputs[i] = c.whole.program.parameters[in.at].operand()
		case ofValue:
			from := c.whole.places[in.at]
			if origin := r.originOf(i); origin != operator.Whole {
				layout, err := s.partOf(from.layout, origin, 0, count)
				isPossible = isPossible && err == nil
				from = from.with(layout)
			}
			inputs[i] = from.operand()
		}
	}
	if isPossible {
		part := c.predict(at, inputs)
		isPossible = part != nil && c.isPart(s, at, part, count)
	}
	c.accepted[key] = isPossible
	return isPossible
}

// with returns the present loops and one more, which has a node; nil: there is none.
func (c *chooser) with(at, group int, tiles int64) []loop {
	low, high, place := 0, len(c.whole.program.nodes)-1, 0
	for i := range c.loops {
		switch s := &c.loops[i]; {
		case s.last < at:
			low, place = s.last+1, i+1
		case at < s.first:
			high = min(high, s.first-1)
		default:
			return nil // it runs before the steps of that loop
		}
	}
	s := loop{group: group, name: c.flow.nameOf(group), units: c.flow.units[group], tiles: tiles}
	if s.units < tiles || !c.extend(&s, at, low, high) {
		return nil
	}
	return slices.Insert(slices.Clone(c.loops), place, s)
}

// extend finds the nodes of a loop around one, from low to high at most.
func (c *chooser) extend(s *loop, at, low, high int) bool {
	n := len(c.whole.program.nodes)
	isTiled := make([]bool, n)
	first := c.extendBack(s, isTiled, at, low)
	if !isTiled[at] {
		return false
	}
	last := c.extendOn(s, isTiled, at, high)
	// Of equal places the farthest one ends the loop, so that a longer one needs fewer loops.
	least := uint64(math.MaxUint64)
	for i := at; i >= first; i-- {
		if isTiled[i] && c.liveBefore[i] <= least {
			least, s.first = c.liveBefore[i], i
		}
	}
	least = math.MaxUint64
	for i := at; i <= last; i++ {
		if isTiled[i] && c.liveBefore[i+1] <= least {
			least, s.last = c.liveBefore[i+1], i
		}
	}
	s.isTiled = isTiled[s.first : s.last+1]
	return true
}

// extendBack finds the nodes before one, and that one itself, that can run tile by tile. The others run before
// the loop, and so do the nodes whose outputs they read. It returns the first one that was looked at.
func (c *chooser) extendBack(s *loop, isTiled []bool, at, low int) int {
	needed := make([]bool, len(c.whole.places)) // as whole values
	for i := at; i >= low; i-- {
		node := &c.whole.program.nodes[i]
		isTiled[i] = !slices.ContainsFunc(node.outputs, func(value int) bool { return value >= 0 && needed[value] }) && c.accepts(s, i)
		for j, in := range node.inputs {
			if in.kind == ofValue && (!isTiled[i] || c.flow.roleOf(i, s.group).originOf(j) == operator.Whole) {
				needed[in.at] = true
			}
		}
		if i == at && !isTiled[i] {
			return at
		}
	}
	return low
}

// extendOn finds the nodes after one that can run tile by tile, up to one that needs their outputs and cannot.
// It returns the last one that belongs to the loop or runs before it.
func (c *chooser) extendOn(s *loop, isTiled []bool, at, high int) int {
	for i := at + 1; i <= high; i++ {
		node := &c.whole.program.nodes[i]
		accepts := c.accepts(s, i)
		for j, in := range node.inputs {
			if in.kind != ofValue {
				continue
			}
			made := c.whole.madeBy[in.at]
			if made >= 0 && isTiled[made] && (!accepts || c.flow.roleOf(i, s.group).originOf(j) == operator.Whole) {
				return i - 1
			}
		}
		isTiled[i] = accepts
	}
	return high
}
