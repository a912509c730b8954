// Package track keeps the books: what is asked for, allocated, active, cached,
// unusable and had from the driver, now and at most, with counts and use by tag.
//
// It owns numbers only. Books belongs to one pool and is guarded by that pool's
// lock; Totals sums over many pools (a device, or a group of pools) with one
// atomic per number, so that pools share no lock. Every number is counted by
// itself, none is derived from another; Books.Check compares them. Nothing here
// allocates memory per operation.
//
// A device's present record is the sum of the records of its pools, each taken
// under its pool's lock, and so balances at any time (reserved = active +
// cached + unusable). Totals gives the peaks, which are exact when no thread is
// inside an operation.
//
// Lock order: the package has no locks.
package track
