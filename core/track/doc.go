// Package track keeps the books: what is asked for, allocated, active, cached,
// unusable and had from the driver, now and at most, with counts and use by tag.
//
// It owns numbers only. Books belongs to one pool, is guarded by that pool's
// lock, and has plain fields: a change costs no atomic operation. Every number is
// counted by itself, none is derived from another; Books.Check compares them.
// What caches in front of a pool hold is a part of the books that is replaced as
// a whole (Books.SetOutside). Totals sums over many pools (a device, or a group
// of pools); the books bring it up to date when they are read, and on their own
// when they have moved far or somebody watches. Nothing here allocates memory per
// operation.
//
// A device's present record is the sum of the records of its pools, each taken
// under its pool's lock, and so balances at any time (reserved = active +
// cached + unusable). Totals gives the peaks, within the bound that its comment
// states.
//
// Lock order: the lock of Totals is below all others and is held for some
// additions only.
//
// # Files in reading order
//
// statistics.go, brief.go, clock.go, totals.go, books.go, segments.go, tags.go.
package track
