// Package offheap keeps large tables outside of the Go heap.
//
// A table that grows on the Go heap leaves its old copy behind, and the collector
// and the scavenger give that memory back late: a process then holds several
// times what its tables need. A Table takes pages from the operating system
// instead, grows by an eighth, mostly without copying, and gives everything
// back when it is freed. Small tables stay on the Go heap: pages and system calls
// of their own would cost more.
//
// The price is that the collector does not keep such memory alive. Whoever owns a
// Table owns its items: after Grow and Free no other slice of them, and no
// pointer into one, may be used again: it may fault, which ends the process. So
// the package is for tables that one owner keeps to itself, under its lock. There
// is no finaliser as a net, for it could free a table under the last method that
// works with it; a table that is never freed is kept until the process ends, and
// Mapped shows it.
//
// Items hold no pointers, which the collector would not see; New tables of a type
// with pointers panic.
//
// Built with the tag ferrum_moving_tables, a table moves whenever it grows, and
// what was before can neither be read nor written: tests of the rooms above then
// stop at any use of an old slice. Under the race detector, which does not see
// memory outside of the Go heap, and on systems other than Linux, tables are on
// the Go heap.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// budget.go, pages.go, pages_staying.go, pages_mapped.go, table.go, block.go.
package offheap
