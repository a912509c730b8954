package devicetest

import (
	"flag"
	"strconv"
)

// raceShare is how many times fewer cases a test of one goroutine has under the race
// detector.
const raceShare = 5

// Step is how far a loop over many cases of a test goes on from each to the next: by one.
// Under the race detector, which slows such a loop down tenfold and finds nothing where
// there is one goroutine, it is five: those cases show wrong uses of unsafe, and all are
// run without it.
func Step() int {
	if raceDetector {
		return raceShare
	}
	return 1
}

// OneThread does the same for the properties that a test checks with rapid: under the race
// detector they have a fifth of their cases until the test ends. Tests that use several
// goroutines have all of them there as well. Not for tests that run beside others, which
// would have fewer too.
func OneThread(t interface{ Cleanup(do func()) }) {
	checks := flag.Lookup("rapid.checks")
	if !raceDetector || checks == nil {
		return
	}
	all := checks.Value.String()
	number, err := strconv.Atoi(all)
	if err == nil {
		err = checks.Value.Set(strconv.Itoa((number + raceShare - 1) / raceShare))
	}
	if err != nil {
		panic(err)
	}
	t.Cleanup(func() {
		if err := checks.Value.Set(all); err != nil {
			panic(err)
		}
	})
}
