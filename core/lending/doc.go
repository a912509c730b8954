// Package lending lets code outside of Go place large blocks of a pool while nothing in
// Go touches the pool: the pool lends its tables out, and recalls them before it looks at
// them again.
//
// A call from C into Go costs more than a placement. So a pool that is asked for a large
// block by C, and that has nothing unusual going on, writes what a placement needs into a
// State, in memory of C: where its tables lie, and the few numbers beside them. From then
// on C places blocks and takes them back in the very same tables, by the same rules. The
// lock of the pool (mirror.Lock) recalls the loan before anybody in Go has it: the numbers
// come back to their owners. So there is one truth at any time, and it has one owner:
//
//	Word     the owner of tables and numbers
//	Owned    the pool, under its lock
//	Lent     nobody; C may take them
//	Working  one thread of C, for the time of one placement
//
// C goes from Lent to Working and back, each with one instruction; Go goes from Owned to
// Lent, with the pool's lock held, and from Lent to Owned. Whoever finds Working waits for
// moments: a placement calls nothing and waits for nothing.
//
// The package owns the layout, which capi and core agree on, and the change of owners. It
// knows no pool and computes nothing; what is written into a State, and what the numbers
// mean, is told by the packages that lend: rangealloc (Places), pages, track and pool.
//
// Lock order: none is taken here.
//
// # Files in reading order
//
// state.go, loan.go.
package lending
