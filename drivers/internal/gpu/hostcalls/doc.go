// Package hostcalls keeps the host functions that streams of a runtime will run. C code
// cannot hold a Go function. So it gets a number, and calls one entry point with it, which
// runs the function (Run).
//
// A function runs on a worker of its own, so that a panic ends the worker and not the
// thread of the runtime. It has a thread of its own meanwhile. A runtime allows no calls
// from there, so callers check first (Inside).
//
// The lock of a Table is a leaf. It is not held while a function runs.
package hostcalls
