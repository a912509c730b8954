package engine

import (
	"time"

	"ferrum_mem/core/mirror"
	"ferrum_mem/core/track"
)

// Pool is what the engine knows of a pool. All methods are called without a
// lock of the engine and are safe for concurrent use, also on a closed pool.
type Pool interface {
	Name() string
	// Land makes every freed block whose queued work is done ready for use.
	Land()
	// WaitForFlight waits for one freed block that queued work still uses and
	// makes it ready. It is false when there is none; CodeTimeout when it takes
	// longer than timeout.
	WaitForFlight(timeout time.Duration) (bool, error)
	// Flush takes back what caches in front of the pool hold idle, and says
	// whether that was anything.
	Flush() bool
	// ReleaseCached flushes, and gives segments without a block back to the
	// device until at least wanted bytes are given or no such segment is left.
	ReleaseCached(wanted uint64) (released uint64, err error)
	// Statistics is the books, which the totals know from then on.
	Statistics() track.Statistics
	Tags() []track.TagUse
}

// shower is a pool whose books can be read without asking it.
type shower interface {
	// ShowAt says where Show is to show the books from now on; nil: nowhere, and what
	// is shown is hidden first.
	ShowAt(place *mirror.Pool)
	// Show shows the books there until they change.
	Show()
}

// briefed is a pool that can give the present values of its books without
// stopping anybody who is at work.
type briefed interface{ Brief() track.Brief }
