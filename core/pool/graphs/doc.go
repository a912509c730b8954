// Package graphs keeps the graphs that streams were captured for in a pool: which private
// pool each of them has, which streams belong to its capture, and which blocks of other
// pools it still uses.
//
// A stream that captures records its work instead of running it, and the graph that comes
// of it runs later, more than once, on the addresses that were used then. So what a graph
// uses must stay as it is until the graph is gone, though its blocks were freed long
// before. Graphs may share a private pool. No event of a stream that captures may be asked:
// a Branch stands for such a stream, whose event passes when the capture ends. A block of
// another pool that is freed in a capture is parked with its graph until that is released.
//
// It knows pools as values of a type P that can be compared, and calls nothing of them.
//
// Lock order: Registry's lock, then a Graph's. The functions that Init, Begin and WhileNone
// are given are called with the registry's lock held; those of streams and events may be
// called with it as well. No other package takes either lock.
//
// # Files in reading order
//
// graph.go, parked.go, registry.go, release.go.
package graphs
