// Package segments keeps the memory that the host maps for callers, and the external
// ranges that work may use (adopted or linked). It knows no device, only its gate, the
// capacity that segments count against (Capacity), and the calls of the system.
//
// Queued work holds the memory that it uses (Acquire), so that memory with work in flight
// is neither unmapped nor removed. The owner of an external range may still unmap it; the
// package checks that before each use (Check).
//
// The lock of a table is a leaf. It is not held during calls of the system.
//
// # Files in reading order
//
// table.go, allocate.go, foreign.go.
package segments
