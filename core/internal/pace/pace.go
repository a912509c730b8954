package pace

import (
	"runtime"
	"time"
)

// turn is how long work goes on before it stands back: to do so costs some microseconds.
const turn = 200 * time.Microsecond

// Pace is that of one piece of work, which one goroutine does. The zero value is ready
// to use.
type Pace struct{ since time.Time }

// Rest is called between two slices, with no lock held that others want.
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
