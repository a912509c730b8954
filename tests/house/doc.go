// Package house holds the house rules against the code: who may import whom,
// where unsafe and C may stand, how goroutines start, how long a file may be,
// how many methods a type may have, who may use a mutex, and that every package
// says what it owns.
//
// It reads source, checks its types and asks `go list`; it never runs the code it
// looks at and has no locks.
package house
