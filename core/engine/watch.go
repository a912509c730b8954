package engine

import (
	"math"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/notify"
	"ferrum_mem/core/pressure"
	"ferrum_mem/core/track"
)

// watch is the present pressure level by each profile that somebody listens to,
// and when one of them changes. Nothing is watched while nobody listens.
type watch struct {
	totals      *track.Totals
	subscribers *subscribers
	dispatcher  *notify.Dispatcher

	// low and high bound the use of our own (track.Totals.Used) over which all
	// levels stay: low <= used < high.
	low, high atomic.Uint64

	mu sync.Mutex
	// watching says that the totals are watched for the listeners.
	watching bool
	// others is what of the total is neither ours nor free, as of the last look at the
	// device.
	others uint64
	meters [pressure.ProfileCount]meter
}

// meter is the level by one profile.
type meter struct {
	level  pressure.Level
	bounds pressure.Bounds
}

func (w *watch) sleep() {
	w.low.Store(0)
	w.high.Store(math.MaxUint64)
}
