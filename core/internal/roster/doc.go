// Package roster keeps lists of members in the order in which they joined.
//
// Many members of a list join and leave. A List is traversed in the order of joining, a
// Ranked in an order that its members define. Joining and leaving cost the same for any
// number of members; only a traversal depends on that number.
//
// Lock order: the package has no locks; the owner of a list guards it.
package roster
