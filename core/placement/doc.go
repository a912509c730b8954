// Package placement chooses the device for a request: a device with enough room that suits
// the request best. It also states why the other devices were not chosen.
//
// A choice has two steps. First the package evaluates every candidate by rules that are
// the same for every strategy: whether it can serve the request (Reason), and its tier, 0
// being the best. Then the strategy chooses among the candidates that can serve the
// request. All strategies except Original choose within the best tier.
//
// A request needs its size on a device. If it asks for a larger alignment than the
// device's addresses have by themselves, it also needs the largest padding. A device may
// have enough free memory in all, but no free run that is long enough. It then has to
// release memory first; this is an eviction. An eviction moves the device down by two
// tiers, and excludes it when the request is critical. A device that the request would
// bring to Critical moves down by one tier, or is excluded if the request requires it; for
// a request with a long lifetime the bound is High.
//
// The package owns the formulas, and the position of round robin. It queries no device,
// holds no memory and starts no goroutine: the caller passes the state of the candidates.
// Counters are integers. The scores of best fit are single-precision numbers by the
// formula of BestFitScore; those of spread and pack are integers. Of equal candidates the
// first in the list is chosen. So a choice depends only on its input and, for round robin,
// on earlier choices.
//
// Lock order: RoundRobin's mutex is a leaf. A user's own strategy is called with no lock
// held.
//
// # Files in reading order
//
// request.go, candidate.go, score.go, strategy.go, choose.go, decide.go.
package placement
