package conformance

import "ferrum_mem/core/rangealloc"

// Make makes the strategy under test.
type Make func(rangealloc.Config) (rangealloc.Strategy, error)

// Request is what an allocation asks for.
type Request = rangealloc.Request

// Options says what a strategy promises beyond the contract of all.
type Options struct {
	// Exact: a size is rounded up to the granule and no further, and an
	// allocation fails only when no free run holds it at its alignment.
	Exact bool
	// Coalesces: no two free blocks are ever side by side.
	Coalesces bool
	// Placement, unless nil, says where the strategy must put a request, given
	// the maximal free runs in address order.
	Placement func(c rangealloc.Config, free []rangealloc.Range, r Request) (offset uint64, ok bool)
}
