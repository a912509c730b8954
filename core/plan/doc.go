// Package plan places buffers whose lifetimes are known into one arena, so that the arena
// is as small as possible.
//
// A buffer lives from a time until just before a later time. Two buffers that live at the
// same time must not share bytes; others may. Place first uses a greedy method, which is
// fast and usually optimal for the activations of a model. If its arena is larger than
// required, and the options allow it, Place searches for a smaller one until it finds the
// smallest arena, the time or the number of steps is used up, or the context ends.
//
// A buffer that is computed in place, or that is an alias of another, is no case of its
// own: the caller merges the lifetimes of the two.
//
// The package owns only the tables of a running call. It allocates no device memory,
// starts no goroutine and reads the clock only to bound the time of the search: the same
// buffers, options and number of steps always give the same placement. It does not trust
// its input: sizes and sums have limits that are checked, and no input causes recursion.
//
// Lock order: the package has no locks. Calls of Place are independent of each other.
//
// # Files in reading order
//
// plan.go, problem.go, greedy.go, order.go, run.go, seen.go, inference.go, search.go, place.go.
package plan
