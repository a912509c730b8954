// Package house tests the rules of the source tree: which package may import which, where
// unsafe and C may be used, how goroutines start, how long a file may be, how many methods
// a type may have, which package may use a mutex, and that every package documents what it
// owns.
//
// It reads source files, checks their types and runs `go list`. It never runs the code that
// it reads. It has no locks.
package house
