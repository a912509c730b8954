// Package graphs keeps the graphs that streams were captured for in a pool: the private
// pool of each graph, the streams of its capture, and the blocks of other pools that it
// still uses.
//
// A stream that captures records its work instead of running it. The resulting graph runs
// later, more than once, with the addresses of the capture. So the memory of a graph must
// keep its place until the graph is released, although its blocks were freed long before.
// Graphs may share a private pool. An event of a capturing stream must not be queried. A
// Branch stands for such a stream; its event completes when the capture ends. A block of
// another pool that is freed in a capture is parked with its graph until the graph is
// released.
//
// The package knows pools as values of a comparable type P, and calls none of their
// methods.
//
// Lock order: Registry's lock, then a Graph's. The functions that Init, Begin and
// WhileNone get are called with the registry's lock held. Functions of streams and events
// may be called with it as well. No other package takes either lock.
//
// # Files in reading order
//
// graph.go, parked.go, registry.go, release.go.
package graphs
