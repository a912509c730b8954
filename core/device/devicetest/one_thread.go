package devicetest

import (
	"flag"
	"strconv"
	"testing"
)

// raceShare is the factor by which tests of one goroutine run fewer cases under the race
// detector. It is larger with -short, which `make test` gives.
func raceShare() int {
	if testing.Short() {
		return 20
	}
	return 5
}

// Step is the step of a test's loop over many cases. It is 1, and raceShare under the race
// detector, which makes such a loop ten times slower and finds no races with one
// goroutine. The remaining cases find wrong uses of unsafe. Without the race detector
// all cases run.
func Step() int {
	if raceDetector {
		return raceShare()
	}
	return 1
}

// OneThread does the same for properties that a test checks with rapid: under the race
// detector they run fewer cases until the test ends. Tests with several goroutines must
// not use it. Tests that run in parallel must not use it either, because the other tests
// would run fewer cases too.
func OneThread(t interface{ Cleanup(do func()) }) {
	checks := flag.Lookup("rapid.checks")
	if !raceDetector || checks == nil {
		return
	}
	all := checks.Value.String()
	number, err := strconv.Atoi(all)
	if err == nil {
		err = checks.Value.Set(strconv.Itoa((number + raceShare() - 1) / raceShare()))
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

// SkipShortRace skips a test of one goroutine in the short run of the race detector, which
// `make test` makes: it takes ten times as long there and finds no race. Without the race
// detector the test runs, and `make soak` runs it with the race detector.
func SkipShortRace(t testing.TB) {
	t.Helper()
	if raceDetector && testing.Short() {
		t.Skip("one goroutine: the short run of the race detector finds nothing here")
	}
}
