// Package mirror shows the books of a device where they can be read without a lock
// and from outside of Go: a call from C that wants no more than to read numbers does
// not have to enter Go for them.
//
// What is shown is the present state, or it says that it is not. Whoever owns the
// numbers keeps them under a Lock, shows them when somebody asks (with the lock held),
// and every later change hides them again before it begins, because it takes the lock.
// So a change costs a look at one flag, and an atomic addition if somebody has read
// since the last one.
//
// A reader, which is never one of Go's, takes the version of a Device or Pool, which is odd while the numbers are
// shown; reads the numbers; and takes the version again: they belong together, and were
// the present ones at some moment in between, if it is the same odd number.
//
// The package owns the layout, which is part of what capi and core agree on, and the
// lock. It never computes anything and knows no pool.
//
// Lock order: a Lock has the place that its owner gives it; nothing is called under it.
package mirror
