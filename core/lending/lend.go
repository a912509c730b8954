package lending

import (
	"runtime"
	"time"
)

// The values of State.Word.
const (
	Owned uint64 = iota
	Lent
	Working
)

// Lend lends the tables. The caller owns them and has filled the State. It does not touch
// the State or the tables until Recall.
func (s *State) Lend() { s.Word.Store(Lent) }

// shortTries is the number of checks after which Recall yields to other threads.
// longTries is the number after which it sleeps.
const shortTries, longTries = 100, 1000

// Recall takes the tables back. The caller owns them when it returns.
func (s *State) Recall() {
	for try := 0; !s.Word.CompareAndSwap(Lent, Owned); try++ {
		switch {
		case try < shortTries:
		case try < longTries:
			runtime.Gosched()
		default:
			// The thread that works is not running at this moment.
			time.Sleep(10 * time.Microsecond)
		}
	}
}
