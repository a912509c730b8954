// Package pageset is what is known of the pages of one piece of address space by their
// numbers: a Set of pages is a bit for each, FreeRuns the pages that nobody has as runs, and
// Users which streams use which pages. A Run is pages one after the other.
//
// It never calls a device (a stream is a name to it), and allocates nothing for a page but
// what its tables hold outside of the Go heap. What was never written there costs no memory.
//
// # Lock order
//
// It has no lock: every value is guarded by its user's.
//
// # Files in reading order
//
// free.go, set.go, users.go.
package pageset
