// Package ranges keeps the memory that a device may use by address, from the first to the
// last byte of each part: allocated memory and external memory. Work is checked against it
// before it is queued.
//
// Its lock is a leaf.
package ranges
