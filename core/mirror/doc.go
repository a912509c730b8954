// Package mirror publishes the counters of a device where they can be read without a lock
// and from outside Go. A call from C that only reads numbers does not have to enter Go.
//
// The published numbers are either the present state or marked as invalid. The owner of
// the numbers keeps them under a Lock and publishes them on request, with the lock held.
// Every later change invalidates them before it begins, because it takes the lock. So a
// change costs one read of a flag, and an atomic addition if the numbers were published
// since the last change.
//
// A reader is never Go code. It reads the version of a Device or a Pool, which is odd
// while the numbers are valid; then the numbers; then the version again. If both versions
// are the same odd number, the numbers belong together, and they were the present state at
// some moment in between.
//
// The package owns the layout, which capi and core share, and the lock. It computes
// nothing and knows no pool.
//
// Lock order: the owner of a Lock defines its place; nothing is called under it.
package mirror
