// Package offheap keeps large tables outside the Go heap.
//
// A table that grows on the Go heap leaves its old copy behind, and the collector and the
// scavenger release that memory late. The process then holds several times the memory of
// its tables. A Table takes pages from the operating system instead, grows by an eighth,
// mostly without copying, and releases everything when it is freed. Small tables stay on
// the Go heap, because pages and system calls would cost more.
//
// The collector does not keep such memory alive. The owner of a Table owns its items:
// after Grow and Free it must not use an earlier slice of them or a pointer into one,
// because the access may fault and end the process. So the package is for tables that one
// owner keeps to itself under its lock. There is no finalizer, because a finalizer could
// free a table while its last method still runs. A table that is never freed stays until
// the process ends, and Mapped counts it.
//
// Items hold no pointers, which the collector would not see. New panics for a type with
// pointers.
//
// With the build tag ferrum_moving_tables, a table moves whenever it grows, and its former
// memory can be neither read nor written. Tests of the packages above then fail at any use
// of an old slice. Under the race detector, which does not see memory outside the Go heap,
// and on systems other than Linux, tables are on the Go heap.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// budget.go, pages.go, pages_staying.go, pages_mapped.go, memory.go, table.go, block.go, view.go.
package offheap
