// Package sleep keeps the contents of the pages of an address space that are asleep: which
// tags sleep, the chunks and the place of their bytes (host memory, a file with checksums,
// nowhere), the copies in both directions, and the plan of a Wake. Saved is its state, a
// Transfer is one run of copies, a Plan is one Wake.
//
// The package maps and unmaps nothing, and does not know the owners of pages. Its user
// starts the copies while the pages are mapped, and reports afterwards which pages sleep.
// A Transfer starts the threads that copy, and they have ended when it returns.
//
// # Lock order
//
// A Turn comes before all locks. Saved is guarded by its user's lock, except for the
// methods of a Sweep that close and free, which are called without it. A Transfer has a
// lock of its own for its first failure, a Sweep one for its results, and the bound of
// page-locked memory one for its counter; under these nothing is called. Stopped and
// Held are called with no lock, and may take the lock of its user.
//
// # Files in reading order
//
// chunk.go, pinned_linux.go, pinned.go, job.go, kept.go, tags.go, turn.go, file.go,
// queue.go, staging.go, saved.go, sweep.go, transfer.go, lane.go, through.go,
// leftover.go, keepers.go, plan.go.
package sleep
