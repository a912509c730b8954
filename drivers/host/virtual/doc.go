// Package virtual is the virtual memory of the host: address space, pages, and the
// mappings of the pages. It knows no device, only the capacity that its pages count
// against (Capacity) and the calls of the system.
//
// A reservation is address space without access. Private pages are anonymous memory in the
// reservation itself. Movable pages are parts of one memory file for each page size,
// mapped into the reservation; each shareable page has a file of its own.
//
// Access rights are those of the system: a range without access is the bare reservation
// or, for private pages, protected memory. So Map only records the mapping, and SetAccess
// makes one call of the system for each run of private pages, or of pages that are
// adjacent in their file.
//
// Calls mark what they change and release the lock during calls of the system. Another
// call that meets a mark returns CodeBusy. When the system fails in the middle, the call
// undoes the earlier steps from its records, which are updated only at the end.
//
// The contents of private pages can stay in the reservation when the pages are unmapped
// (device.ContentKeeper). Such a range has no access and no pages.
//
// Queued work holds the pages that it uses (Acquire), so that a page with work in flight
// is neither unmapped nor loses its access rights.
//
// Lock order: Memory.mu, then memoryFiles.mu or the lock of the spare mappings. Under
// Memory.mu the only calls of the system open or copy a file; none maps or unmaps.
//
// # Files in reading order
//
// reservation.go, mappings.go, store.go, files.go, system.go, pages.go, memory.go, export.go,
// use.go, runs.go, keep.go, map.go.
package virtual
