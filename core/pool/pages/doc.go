// Package pages keeps the state of the pages of a paged pool: which pages are mapped,
// which of them contain a part of a block, and how long idle pages stay.
//
// A Table describes one reservation of addresses. Counts has the number of its idle pages
// together with those of the pool's other tables. A Keeper is the retention policy: it
// decides when idle pages are released, from the use of the pages that it released before.
// The package calls no device: the owner maps and unmaps pages, and reports it.
//
// There is no lock: the owner's lock guards tables and counts during every call.
//
// # Files in reading order
//
// bits.go, table.go, large.go, many.go, lend.go, keeper.go.
package pages
