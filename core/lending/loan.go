package lending

import (
	"runtime"
	"time"
)

// What State.Word says.
const (
	Owned uint64 = iota
	Lent
	Working
)

// Lend gives the tables out. The caller, who owns them, has filled the State, and does not
// touch it or the tables until Recall.
func (s *State) Lend() { s.Word.Store(Lent) }

// shortTries is how often Recall looks before it lets others run, and then sleeps.
const shortTries, longTries = 100, 1000

// Recall takes the tables back: they are the caller's when it returns.
func (s *State) Recall() {
	for try := 0; !s.Word.CompareAndSwap(Lent, Owned); try++ {
		switch {
		case try < shortTries:
		case try < longTries:
			runtime.Gosched()
		default:
			// The thread that works does not run at this moment.
			time.Sleep(10 * time.Microsecond)
		}
	}
}
