package architecture

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
