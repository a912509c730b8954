// Package segments is the memory that the host maps for callers, and the ranges of memory
// that belongs to others and that work may use (adopted or linked). It knows no device,
// only its gate, what segments are counted against (Capacity) and the calls of the system.
//
// Queued work holds what it touches (Acquire), so none with work in flight is unmapped or
// left. The owner of a foreign range may take it away all the same; that is asked before
// each use (Check).
//
// The lock of a table is a leaf, and not held while the system is called.
//
// # Files in reading order
//
// table.go, allocate.go, foreign.go.
package segments
