// Package conformance is the suite that every strategy of rangealloc must pass:
// Run for the properties and tables, Fuzz for the fuzzer.
//
// It owns a naive model of a range, a sorted slice of blocks, and a Pair that
// does every operation on a strategy and on the model and compares results,
// errors, statistics and the whole walk after each step. Its own tests feed it
// broken strategies and expect it to find every one of them.
//
// It is imported by tests only, and never looks inside a strategy: Check, which
// every strategy has, does that.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// options.go, model.go, claims.go, pair.go, suite.go, scan.go, tables.go, refusals.go,
// batch.go, exhaustion.go, close.go, script.go, fuzz.go, properties.go, run.go.
package conformance
