// Package events keeps unused events of a runtime for reuse. Creating an event takes far
// longer than reusing one, and a reuse does not affect waits for the former recording. The
// package makes no call of a runtime.
//
// Its lock is a leaf.
package events
