// Package native reads what the system reports about the processor and the memory, in the
// way of each system. It builds on more systems than the host backend.
//
// It owns nothing. A value that cannot be read is "" or 0, never an error and never a
// guess.
//
// Lock order: the package has no locks.
package native
