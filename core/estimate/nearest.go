package estimate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// unknownFamily returns the error for an unknown family. It names the nearest known
// families, and the fields that are missing for the nearest one.
func unknownFamily(o *object, name string) error {
	near := nearest(name, slices.Sorted(maps.Keys(families())))
	r := reader{object: o, family: families()[near[0]]}
	needed := r.needed()
	missing := slices.DeleteFunc(slices.Clone(needed), func(field string) bool { return o.has(field) })
	lacks := "has all of them"
	if len(missing) > 0 {
		lacks = "lacks " + listed(missing)
	}
	return o.wrong("model_type", "%s is not a known family, so the contents of its layers are unknown; the nearest known are %s; a model like %s needs %s, and this file %s",
		quote(name), listed(near), near[0], listed(needed), lacks)
}

// needed lists the fields for which a family has no default, by its names for them.
func (r reader) needed() []string {
	fields := []string{"hidden_size", "num_hidden_layers", "vocab_size"}
	if !r.family.noAttention {
		fields = append(fields, "num_attention_heads")
		if r.family.innerTimes == 0 {
			fields = append(fields, "intermediate_size")
		}
	}
	var names []string
	for _, field := range fields {
		if _, ok := r.family.defaults[field]; !ok {
			names = append(names, r.name(field))
		}
	}
	if names == nil {
		names = []string{"model_type"}
	}
	return names
}

// nearest returns the three names that are most similar to a name.
func nearest(name string, known []string) []string {
	if len(name) > 60 {
		name = name[:60]
	}
	far := make(map[string]int, len(known))
	for _, k := range known {
		far[k] = distance(plain(name), plain(k))
	}
	by := slices.Clone(known)
	slices.SortStableFunc(by, func(a, b string) int { return far[a] - far[b] })
	return by[:min(3, len(by))]
}

// plain returns a name without separators.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. ", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// distance measures how different two names are: 2 for each additional letter, 3 for
// each different letter.
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

// listed joins names for a sentence.
func listed(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s and %s", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
}
