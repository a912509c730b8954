package engine

import (
	"time"

	"ferrum_mem/core/mirror"
	"ferrum_mem/core/track"
)

// Pool is the interface between the engine and a pool. All methods are called without a
// lock of the engine and are safe for concurrent use, also on a closed pool.
type Pool interface {
	Name() string
	// CompleteFrees makes every freed block whose queued work has completed ready for reuse.
	CompleteFrees()
	// WaitForFlight waits for one block in flight and makes it ready for reuse. It
	// returns false if there is none, and CodeTimeout if the wait takes longer than
	// timeout.
	WaitForFlight(timeout time.Duration) (bool, error)
	// Flush takes the idle blocks of the caches in front of the pool, and reports
	// whether there were any.
	Flush() bool
	// ReleaseCached flushes the caches, and releases segments without a block to the
	// device until at least wanted bytes are released or no such segment is left.
	ReleaseCached(wanted uint64) (released uint64, err error)
	// Statistics returns the counters and updates the totals.
	Statistics() track.Statistics
	Tags() []track.TagUse
}

// publisher is a pool that can publish its counters.
type publisher interface {
	// PublishAt sets the place where Publish publishes the counters; nil: nowhere. Counters
	// that are published now are first invalidated.
	PublishAt(place *mirror.Pool)
	// Publish publishes the counters; they stay published until they change.
	Publish()
}

// briefed is a pool that returns the present values of its counters without blocking
// other threads.
type briefed interface{ Brief() track.Brief }
