// Package trace reads recorded workloads and turns them into the times at which memory is
// allocated and freed.
//
// It reads three kinds of files, each from an io.Reader: request traces as CSV with the
// columns of the Azure public data set, request traces as JSON lines with the fields of
// the Mooncake release, and lifetimes of buffers as CSV. A Schedule then plays a trace in
// order of time under Rules: contiguous, paged or lifetimes.
//
// The package owns only what it has read. It allocates no device memory, starts no
// goroutine and never reads the clock: the same file and the same rules always give the
// same steps. It does not trust its input: every number is bounded before it is
// multiplied, and lines, requests and blocks have limits.
//
// Lock order: the package has no locks. A Trace is read-only after reading and may be
// shared; a Schedule belongs to one goroutine.
//
// # Files in reading order
//
// trace.go, rules.go, field.go, csv.go, jsonl.go, read.go, schedule.go.
package trace
