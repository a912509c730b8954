package architecture

import (
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
)

// Numbers for distances. A table has for each head a number for each kind of distance from a query to a key.
// Attention adds it to the score of the two. The kinds are those of T5 (Raffel et al., 2020, section 2.1): half
// of them are for keys before the query and the query itself, half for keys after it. In each half the
// distances 0 to 7 have a kind of their own. Longer ones share kinds, two for each doubling, and all from 91
// tokens on are one kind.

const (
	// distanceBuckets is the number of kinds.
	distanceBuckets = 32
	// maxDistances bounds the tokens of a model with distances, because the definition lists the kind of each
	// distance, and the rows of the table.
	maxDistances = 1 << 14
)

// distanceKind returns the kind of the distance from a query to a key: negative if the key comes before.
func distanceKind(distance int64) int64 {
	const each, single = distanceBuckets / 2, distanceBuckets / 4
	kind := int64(0)
	if distance > 0 {
		kind = each
	} else {
		distance = -distance
	}
	if distance < single {
		return kind + distance
	}
	// The kind grows by 2 for each doubling: it is single + i if distance² >= single² · 2^i.
	last := int64(0)
	for last < each-single-1 && distance*distance >= single*single<<(last+1) {
		last++
	}
	return kind + single + last
}

// distances returns what attention adds to its scores: the numbers for the distances, and a negative number
// that leaves a key no weight where the mask excludes it.
func (e *encoder) distances(seen value) value {
	most := int64(e.of.Positions - e.of.Encoding.FirstPosition)
	kinds := make([]int64, 2*most-1)
	for i := range kinds {
		kinds[i] = distanceKind(int64(i) - most + 1)
	}
	heads := int64(e.of.Attention.Heads)
	const name = "distances."
	square := []int64{ir.Dynamic, ir.Dynamic}
	numbers := e.input(tokenNumbers, ir.DefaultPositions, sequence)
	queries := e.node(step{layer: name + "queries", operator: "Unsqueeze", dtype: dtype.I64, shape: []int64{ir.Dynamic, 1}},
		numbers.operand(), e.integers(name+"axis", false, 1))
	from := e.node(step{layer: name + "from_queries", operator: "Sub", dtype: dtype.I64, shape: square}, numbers.operand(), queries.operand())
	index := e.node(step{layer: name + "index", operator: "Add", dtype: dtype.I64, shape: square},
		from.operand(), e.integers(name+"longest", false, most-1))

	table := e.floats(e.names.distances+".weight", e.normal(), e.of.Encoding.RelativeBuckets, e.of.Attention.Heads)
	each := e.node(step{layer: e.names.distances, operator: "Gather", dtype: e.dtype, shape: []int64{2*most - 1, heads}},
		table, e.integers(name+"kinds", false, kinds...))
	each = e.node(step{layer: name + "by_head", operator: "Transpose", attributes: map[string]any{"perm": []int64{1, 0}}, dtype: e.dtype, shape: []int64{heads, 2*most - 1}},
		each.operand())
	added := e.node(step{layer: name + "select", operator: "Gather", attributes: map[string]any{"axis": 1}, dtype: e.dtype, shape: []int64{heads, ir.Dynamic, ir.Dynamic}},
		each.operand(), index.operand())

	// The number is finite in each type.
	never := e.node(step{layer: name + "excluded", operator: "Cast", attributes: map[string]any{"to": e.dtype.String()}, dtype: e.dtype, shape: []int64{1}},
		e.integers(name+"lowest", false, -60000))
	return e.node(step{layer: name + "mask", operator: "Where", dtype: e.dtype, shape: []int64{ir.Dynamic, heads, ir.Dynamic, ir.Dynamic}},
		seen.operand(), added.operand(), never.operand())
}
