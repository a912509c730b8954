// Package relocation decides which blocks are moved, in which order and until when, so
// that pages or segments become free. It knows no block: the owner of the blocks (Blocks)
// decides what may move and moves it, and the pool (Pool) selects the page to empty next.
//
// The package considers a few blocks at a time and checks the budget between two steps. A
// call whose budget ends leaves its plan to the next call with a bound, which continues
// there. So a small budget makes progress for any number of blocks. Everything in a plan
// is checked again before a block is moved.
//
// Every live block counts once in the report of a call: as moved, as skipped for one
// reason, or as kept.
//
// One call at a time moves blocks; it holds the turn, which guards the plan. The package
// holds no other lock while it calls the owner of the blocks.
//
// # Files in reading order
//
// stats.go, plan.go, relocator.go.
package relocation
