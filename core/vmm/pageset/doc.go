// Package pageset keeps the state of the pages of one piece of address space by their
// numbers. A Set has a bit for each page, FreeRuns has the free pages as runs, and Users
// has the streams that use each page. A Run is a sequence of adjacent pages.
//
// The package never calls a device (a stream is only a name to it), and allocates for a
// page only in its tables outside the Go heap. Parts of the tables that were never written
// use no memory.
//
// # Lock order
//
// It has no lock: every value is guarded by the lock of its user.
//
// # Files in reading order
//
// free.go, set.go, users.go.
package pageset
