// Package virtual is the virtual memory of the host: address space, pages, and where the
// pages are mapped. It knows no device, only what its pages are paid from (Capacity) and
// the calls of the system.
//
// A reservation is address space that nobody may touch. Private pages are memory that
// comes into being in place, in the reservation itself. Movable pages are parts of one
// file of memory for each page size, mapped over the reservation; shareable ones have a
// file each.
//
// What a page can be accessed by is what the system has: a range without access is the
// bare reservation or, for private pages, protected. So Map is notes only, and SetAccess
// is one call of the system for each run of private pages or of pages that follow each
// other in their file.
//
// Calls mark what they change, and let go of the lock while the system works; who meets
// a mark meanwhile is CodeBusy. When the system refuses in the middle, what was done is
// undone from the notes, which are brought up to date only at the end.
//
// Queued work holds the pages that it touches (Acquire), so none with work in flight is
// unmapped or loses an access under it.
//
// Lock order: Memory.mu, then memoryFiles.mu or the lock of the spare mappings. Under
// Memory.mu the system is only asked to open or copy a file, never to map or unmap.
//
// # Files in reading order
//
// reservation.go, mappings.go, store.go, files.go, system.go, pages.go, memory.go, export.go,
// use.go, runs.go, map.go.
package virtual
