// Package hostcalls is the functions of the host that streams of a runtime will run. C code
// cannot hold a Go function: it is given a number, and calls one entry with it, which runs
// the function (Run).
//
// A function runs on a worker of its own, which a panic ends instead of the runtime's
// thread, and on a thread that is its own meanwhile: a runtime does not allow calls from
// there, so who makes one asks first (Inside).
//
// The lock of a Table is a leaf, and not held while a function runs.
package hostcalls
