package pace

import (
	"runtime"
	"time"
)

// turn is the time that work runs between two rests. A rest costs some microseconds,
// so they are not more frequent.
const turn = 200 * time.Microsecond

// Pace is the pace of one piece of work of one goroutine. The zero value is ready to
// use.
type Pace struct{ since time.Time }

// Rest is called between two slices of work, without a lock that others need.
func (p *Pace) Rest() {
	now := time.Now()
	if p.since.IsZero() {
		p.since = now
	}
	if now.Sub(p.since) < turn {
		return
	}
	runtime.Gosched()
	p.since = time.Now()
}
