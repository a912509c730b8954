// Package regions decides which memory of a pool is cheapest to empty, and where its
// blocks go. Its owner passes it the blocks and the free memory.
//
// A region is memory that becomes free as a whole: a page, or a segment that was allocated
// whole. A region in which every block may move is a candidate. A candidate is cheaper the
// fewer bytes its blocks have. A block that lies in two pages counts in both, because it
// has to move for either.
//
// Blocks move to regions that stay, or to more expensive candidates, so no block moves
// twice. The fullest regions are used first. The next region is used only when those have
// no room, because a region that received a block is not emptied any more. When they all
// have no room, a region with memory and without blocks may be used, if the two cheapest
// candidates together fit into it.
//
// The package knows segments by a type S that has an address. Its data may be out of date:
// the owner checks it again before it acts, and reports what it did. There is no lock: the
// owner's lock guards a Set, except during Sort, which may work on a Set that no other
// thread uses.
//
// # Files in reading order
//
// pieces.go, region.go, hole.go, set.go, place.go.
package regions
