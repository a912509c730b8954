// Package largeblocks places blocks that are too large for the thread caches. It does so
// in C, in the tables that a pool has lent, so that most allocations and frees of such
// blocks do not enter Go. core/lending explains why and how.
//
// It owns a record for each lending pool, by the slot of the pool's handle, and the rules
// of one placement: best fit as in core/rangealloc, with the pages, counters and tags of
// the pool. It keeps no state between two calls. It passes a call on to Go, with nothing
// changed, in these cases: the pool has its tables itself; there is no room, or the pages
// are not mapped; a table would have to grow, a page would have to be released, or the
// totals have to be updated; the call names another stream than the default one, or a
// stream with queued work, or another stream uses the block; the alignment is larger than
// the pool's; and for every error.
//
// No other thread waits long for a placement, and a placement waits for no other thread: a
// thread that finds another one at work retries for a short time, and then passes the call
// on to Go.
//
// # Files in reading order
//
// Of C: large.h declares the calls, loan.h is the layout; places.h is the table of blocks and the
// index of free runs, pages.h the table of pages, large.c one placement. Of Go:
// largeblocks.go.
package largeblocks
