// Command ferrum-mem is the operator's tool of ferrum_mem: what devices there
// are (devices), whether this machine is set up well (doctor), whether a model
// fits (fit), what is in files of weights (weights), and what a pool would have
// done under a recorded workload (replay).
//
// Every verb prints for people, or with --json one object for programs, on the
// standard output. Messages and progress go to the standard error; progress only
// where that is a terminal. The exit status is 0 for done, 1 when the answer is
// no, 2 for bad usage or input, 3 for an error of the machine, and 130 when
// interrupted.
//
// It owns nothing that outlives a run but the report that --report asks for and
// the output of weights convert, which appear only when they are complete. It never decides
// anything about memory: that is the core's.
//
// Lock order: the package has no locks.
package main
