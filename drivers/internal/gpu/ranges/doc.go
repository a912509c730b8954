// Package ranges is the memory that a device may use by address, from the first to the last
// byte of each part of it: what was allocated, and what belongs to others. Work is held
// against it before it is queued.
//
// Its lock is a leaf.
package ranges
