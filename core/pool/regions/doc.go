// Package regions decides which memory of a pool is cheapest to empty and where the blocks
// in it go, from what it is told of blocks and of free memory.
//
// A region is what comes free as a whole: a page, or a segment that was taken whole. One in
// which every block may move is a candidate. The fewer bytes its blocks have, the cheaper it
// is: a block that lies in two pages counts in both, because it has to move for either.
//
// Blocks go to regions that stay, or cost more, so no block moves twice; the fullest are
// taken into use first, and the next only when those have no place, because a region that
// got a block is not emptied any more. When there is no room in those, a region that has
// memory and no block may be opened, if the two cheapest candidates fit into it together.
//
// It knows segments by a type S that has an address. What it was told may have changed
// since: the owner looks again before it acts, and says what it did. There is no lock: the
// owner's guards a Set, but for Sort, which may work on a Set that nobody else uses.
//
// # Files in reading order
//
// pieces.go, region.go, hole.go, set.go, place.go.
package regions
