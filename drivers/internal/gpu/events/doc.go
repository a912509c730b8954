// Package events keeps events of a runtime that nobody uses, to be recorded again: to make
// one takes far longer than to take one from here, and a wait for what one was recorded for
// before is not affected. It makes no call of a runtime.
//
// Its lock is a leaf.
package events
