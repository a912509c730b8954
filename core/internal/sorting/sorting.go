package sorting

import "sort"

// short is the length up to which package slices sorts by insertion, too.
const short = 12

// By sorts values by compare, as slices.SortFunc does.
func By[E any](values []E, compare func(a, b E) int) {
	if len(values) <= short {
		insert(values, compare)
		return
	}
	sort.Slice(values, func(i, j int) bool { return compare(values[i], values[j]) < 0 })
}

// StableBy sorts values by compare, as slices.SortStableFunc does: equal values keep their order.
func StableBy[E any](values []E, compare func(a, b E) int) {
	if len(values) <= short {
		insert(values, compare)
		return
	}
	sort.SliceStable(values, func(i, j int) bool { return compare(values[i], values[j]) < 0 })
}

// insert sorts a short list by insertion, which is stable and allocates nothing.
func insert[E any](values []E, compare func(a, b E) int) {
	for end := 1; end < len(values); end++ {
		for at := end; at > 0 && compare(values[at], values[at-1]) < 0; at-- {
			values[at], values[at-1] = values[at-1], values[at]
		}
	}
}
