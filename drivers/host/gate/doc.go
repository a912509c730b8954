// Package gate says whether a device of the host is open, and counts what keeps it so.
//
// Its lock is a leaf: nothing else is taken under it.
package gate
