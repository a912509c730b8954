// Package conformance is the suite that every strategy of rangealloc must pass: Run for
// the properties and tables, Fuzz for the fuzzer.
//
// It owns a reference model of a range, which is a sorted slice of blocks, and a Pair,
// which runs every operation on a strategy and on the model. After each step the Pair
// compares results, errors, statistics and the list of all blocks. The tests of this
// package run broken strategies and require that the suite detects each of them.
//
// Only tests import it. It never reads inside a strategy: Check, which every strategy has,
// does that.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// options.go, model.go, claims.go, pair.go, suite.go, scan.go, tables.go, refusals.go,
// batch.go, exhaustion.go, close.go, script.go, fuzz.go, properties.go, run.go.
package conformance
