package pace

import (
	"runtime"
	"time"
)

// turn is how long work continues before it rests, because a rest costs some
// microseconds.
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
