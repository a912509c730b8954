// Package trace reads recorded workloads and turns them into the times at
// which memory is asked for and given back.
//
// Three kinds of file are read, each from an io.Reader: request traces as CSV
// with the columns of the Azure public data set, request traces as JSON lines
// with the fields of the Mooncake release, and buffer lifetimes as CSV. A
// Schedule then plays a trace in order of time under Rules: contiguous, paged
// or lifetimes.
//
// The package owns what it has read and nothing else. It allocates no device
// memory, starts no goroutine and never looks at the clock: the same file and
// the same rules always give the same steps. Input is never trusted: every
// number is bounded before it is multiplied, and lines, requests and blocks
// have limits.
//
// Lock order: the package has no locks. A Trace is read-only once read and may
// be shared; a Schedule belongs to one goroutine.
//
// # Files in reading order
//
// trace.go, rules.go, field.go, csv.go, jsonl.go, read.go, schedule.go.
package trace
