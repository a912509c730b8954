// Package pages keeps what a pool over virtual memory knows of its pages: which are mapped,
// which of them a block touches, and how long idle ones stay.
//
// A Table is of one reservation of addresses, whose idle pages are counted together with
// those of the pool's other tables in Counts. A Keeper is the rule by which idle pages are
// given back, from what became of those that were. Nothing here calls a device: the owner
// maps and unmaps, and says so.
//
// There is no lock: the owner's guards tables and counts, all the time that a call lasts.
//
// # Files in reading order
//
// bits.go, table.go, large.go, many.go, keeper.go.
package pages
