// Package operatortest has calls of every operator, for tests of what computes them.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// calls.go.
package operatortest
