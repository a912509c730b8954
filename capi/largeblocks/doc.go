// Package largeblocks places blocks that are too large for the thread caches, in C, in the
// tables that a pool has lent (core/lending tells why and how): most allocations and frees of
// such blocks need not enter Go.
//
// It owns the places where pools lend, one for each by the slot of its handle, and the rules
// of one placement: best fit as core/rangealloc has it, with pages, books and tags as the pool
// keeps them. It keeps nothing between two calls. What it does not do it passes on with
// nothing changed: when the pool has its tables itself; when there is no room, or its pages
// are not mapped; when a table would have to grow, a page be given back or the totals be
// brought up to date; for another stream than the default one, one that has work queued, and
// a block that another stream uses; for an alignment beyond the pool's; and for every error.
//
// # Files in reading order
//
// Of C: large.h is what others call, loan.h the layout; places.h is the table of blocks and the
// index of free runs, pages.h the table of pages, large.c one placement. Of Go:
// largeblocks.go.
//
// Nobody waits for it but for moments, and it waits for nobody: a thread that finds another at
// work tries again for a while, and then passes.
package largeblocks
