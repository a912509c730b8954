// Package lending lets C code place large blocks of a pool while no Go code uses the pool.
// The pool lends its tables to C, and recalls them before it uses them again.
//
// A call from C into Go costs more than a placement. So when C requests a large block and
// the pool is in its normal state, the pool writes the data for a placement into a State in
// C memory: the addresses of its tables, and a few numbers. From then on C places and
// frees blocks in the same tables, by the same rules. The lock of the pool (mirror.Lock)
// recalls the tables before any Go code gets the lock: the numbers are then written back to
// their owners. So the tables and numbers have one owner at any time:
//
//	Word     the owner of tables and numbers
//	Owned    the pool, under its lock
//	Lent     no thread; a thread of C may take them
//	Working  one thread of C, for the time of one placement
//
// C changes Lent to Working and back, each with one instruction. Go changes Owned to Lent
// with the pool's lock held, and Lent to Owned. A thread that finds Working waits for a
// very short time, because a placement calls nothing and waits for nothing.
//
// The package owns the layout, which capi and core share, and the change of owners. It
// knows no pool and computes nothing. The packages that lend document what they write into
// a State: rangealloc (Places), pages, track and pool.
//
// Lock order: the package takes no lock.
//
// # Files in reading order
//
// state.go, lend.go.
package lending
