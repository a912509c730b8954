// Package sleep is what is kept of the pages of an address space that sleep: which tags
// sleep, the chunks and where their bytes are (host memory, a file with sums, nowhere), the
// copies there and back, and the plan of a Wake. Saved is its state, a Transfer one run of
// copies, a Plan one Wake.
//
// It maps and unmaps nothing, and does not know who has the pages: its user has copies made
// while the pages are mapped, and says afterwards which of them sleep. A Transfer starts the
// threads that copy, and they have ended when it returns.
//
// # Lock order
//
// A Turn stands above all locks. Saved is guarded by its user's lock, but for the methods
// of a Sweep that close and free, which are called without. A Transfer has a lock of its own
// for its first failure, under which nothing is called; Stopped and Held are called with no
// lock, and may take its user's.
//
// # Files in reading order
//
// chunk.go, job.go, kept.go, tags.go, turn.go, file.go, lane.go, saved.go, leftover.go,
// transfer.go, plan.go.
package sleep
