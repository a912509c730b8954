// Package rangealloc is the strategy interface: it allocates and frees aligned ranges of
// [0, n).
//
// A strategy knows nothing of devices, streams or time, and keeps no byte of metadata
// inside its range, because device memory may not be readable from here. Its metadata is
// in tables without pointers, so that the garbage collector never scans them. Large tables
// are outside the Go heap (package offheap), so the owner of a strategy must close it. An
// operation allocates no Go memory except when a table grows. It must not keep a slice of
// a table, or a pointer into one, over a call that may grow the table.
//
// The package never calls a device, never starts a goroutine and holds no lock: a Strategy
// belongs to one caller at a time, the pool that locks it.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// strategy.go, request.go, records.go, live_index.go, tiling.go, tiling_check.go,
// free_list.go, classes.go, bitset.go, fixed_sets.go, fixed_groups.go, fixed_grid.go,
// fixed_tables.go, fixed.go, fixed_check.go, fixed_place.go, tlsf_classes.go, tlsf.go,
// tlsf_check.go, arena.go, buddy.go, buddy_check.go, few_runs.go, free_index.go,
// best_fit_hints.go, best_fit.go, best_fit_lend.go, best_fit_check.go, place.go, size_class_tables.go,
// size_class.go, size_class_slab.go, size_class_where.go, size_class_walk.go, size_class_batch.go,
// size_class_check.go, scan.go.
package rangealloc
