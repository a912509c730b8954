// Package placement chooses the device for a request: which of several has room
// for it, suits it best, and why the others do not.
//
// A choice has two steps. First every candidate is weighed by rules that are the
// same for every strategy: whether it can serve the request at all (Reason), and
// in which tier it is, 0 being the best. Then the strategy chooses among those that
// can. All strategies but Original choose within the best tier.
//
// What a request needs on a device is its size and, where it asks for a larger
// alignment than the device's addresses have by themselves, the worst padding for
// it. A device whose longest free run is shorter than that, though all its free
// memory together would do, has to give memory up first: it needs an eviction.
// That moves it down by two tiers, and out when the request is critical. A device
// that the request would bring to Critical moves down by one tier, or out if the
// request says so; for a request that lives long the bound is High.
//
// It owns the formulas and, of round robin, whose turn it is. It never asks a
// device anything, holds no memory and starts no goroutine: what is known of the
// candidates comes from the caller. The books are whole numbers; the scores of best
// fit are single-precision numbers by the formula that BestFitScore gives, those of
// spread and pack whole numbers. Of equal candidates the one earlier in the list is
// chosen, so a choice depends on nothing but its input and, for round robin, on the
// choices before.
//
// Lock order: RoundRobin's mutex is a leaf. A user's own strategy is called with no
// lock held.
//
// # Files in reading order
//
// request.go, candidate.go, score.go, strategy.go, choose.go, decide.go.
package placement
