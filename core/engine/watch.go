package engine

import (
	"math"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/notify"
	"ferrum_mem/core/pressure"
	"ferrum_mem/core/track"
)

// watch has the present pressure level of each profile with listeners, and the bounds
// at which one of them changes. Nothing is watched without listeners.
type watch struct {
	totals      *track.Totals
	subscribers *subscribers
	dispatcher  *notify.Dispatcher

	// low and high bound the use by this library (track.Totals.Used) in which all
	// levels stay: low <= used < high.
	low, high atomic.Uint64

	mu sync.Mutex
	// watching states that the totals are watched for the listeners.
	watching bool
	// others is the part of the total that is neither used by this library nor free, at
	// the last reading of the device.
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
