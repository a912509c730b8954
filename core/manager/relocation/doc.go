// Package relocation decides which blocks are moved, in which order and until when, so that
// pages or segments come free. It knows no block: what may move, and how it is moved, the
// owner of the blocks says (Blocks), and which page is emptied next the pool (Pool).
//
// Blocks are looked at a few at a time, and each budget is looked at between two steps. A
// call whose budget is over leaves its plan to the next one that has a bound, which goes on
// there: so a small budget gets somewhere, however many blocks there are. All that a plan
// says is asked again before a block is moved.
//
// Every block that is live counts once in what a call reports: as moved, as skipped for one
// reason, or as kept.
//
// One call at a time moves blocks; it has the turn, which guards the plan. No lock of this
// package is held while blocks are asked or moved.
//
// # Files in reading order
//
// stats.go, plan.go, relocator.go.
package relocation
