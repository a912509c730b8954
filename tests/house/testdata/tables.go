// Package testdata has two tables that are made while it is loaded, and variables that are
// not such tables.
package testdata

var plain = map[string]int{"a": 1}

var nested = []struct{ names map[string]bool }{{names: map[string]bool{"b": true}}}

var (
	empty = map[string]int{}
	late  = func() map[string]int { return map[string]int{"c": 1} }
	fixed = [...]string{"d"}
)
