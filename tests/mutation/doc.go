// Package mutation gives the fuzzers new inputs in a plain run of the tests.
//
// A plain run of a fuzzer has only its committed inputs, and `go test -fuzz` compiles every package
// again. So each committed input is also changed a few times at random. `make soak` fuzzes with coverage.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// mutation.go.
package mutation
