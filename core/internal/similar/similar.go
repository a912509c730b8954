package similar

import (
	"slices"
	"strings"

	"ferrum_mem/core/internal/sorting"
)

const (
	// longest is the largest number of bytes of a name that are compared, from its end: the
	// beginnings of names are often equal.
	longest = 60
	// most is the largest number of known names that are compared. A file may have a million.
	most = 20_000
)

// Names returns at most count known names, the most similar one first.
func Names(name string, known []string, count int) []string {
	known = slices.Clone(known[:min(len(known), most)])
	far := make(map[string]int, len(known))
	for _, k := range known {
		far[k] = distance(plain(name), plain(k))
	}
	sorting.StableBy(known, func(a, b string) int { return far[a] - far[b] })
	return known[:min(count, len(known))]
}

// plain returns the end of a name, in lower case and without separators.
func plain(name string) string {
	if len(name) > longest {
		name = name[len(name)-longest:]
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. ", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// distance measures how different two names are: 2 for each additional letter, 3 for each different
// letter.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = 2 * j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = 2 * (i + 1)
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change += 3
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+2, row[j+1]+2)
		}
	}
	return row[len(b)]
}
