// Package gate states whether a device of the host is open, and counts what keeps it open.
//
// Its lock is a leaf: no other lock is taken under it.
package gate
