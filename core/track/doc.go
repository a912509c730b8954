// Package track keeps the counters: requested, allocated, active, cached, unusable and
// reserved bytes, with peaks, counts and use by tag.
//
// It owns numbers only. Counters belongs to one pool, is guarded by that pool's lock, and has
// plain fields: a change costs no atomic operation. Every number is counted separately,
// and none is derived from another; Counters.Check compares them. Only while the counters are
// lent (Counters.Lend), they follow from fewer numbers. The bytes that thread
// caches hold are a part of the counters that is replaced as a whole (Counters.SetOutside).
// Totals adds up many pools (of a device, or of a group). The counters update their Totals
// when they are read, and also when they have changed by much or are monitored. No
// operation allocates memory.
//
// The present record of a device is the sum of the records of its pools, each read under
// its pool's lock. So it is consistent at any time (reserved = active + cached +
// unusable). Totals has the peaks, within the bound that its comment states.
//
// Lock order: the lock of Totals is below all others and is held only for a few additions.
//
// # Files in reading order
//
// statistics.go, brief.go, clock.go, totals.go, counters.go, counters_lend.go, segments.go, tags.go.
package track
