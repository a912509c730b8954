package testdevice

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	// The import defines the flags of rapid, so that every suite accepts the same flags.
	_ "pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/cuda/cudaprobe"
)

// Suite is the pattern of the names of the tests that run on any device.
const Suite = "^TestOnDevice"

var left struct {
	mu  sync.Mutex
	out map[string]bool
}

// Main runs the tests of a package. If a device other than the host is named, it runs only
// the tests of the suite. hostOnly lists by name the tests that such a device skips, with
// the reason. The skipped tests must be exactly these. A simulated driver must then have no
// leak and no violation. The result is the status for os.Exit.
func Main(m *testing.M, hostOnly map[string]string) int {
	flag.Parse()
	if OnHost() {
		return m.Run()
	}
	chosen := flag.Lookup("test.run").Value.String()
	if chosen == "" {
		if err := flag.Set("test.run", Suite); err != nil {
			panic(err)
		}
	}
	reasons, left.out = hostOnly, map[string]bool{}
	release := hold()
	code := m.Run()
	release()
	if chosen == "" && flag.Lookup("test.list").Value.String() == "" {
		code = max(code, checkLeftOut(hostOnly))
	}
	return max(code, checkSimulator())
}

// hold opens the device until the tests have ended, so that a test that opens it again need
// not wait until the driver has made its context anew, which takes a quarter of a second.
// The simulated driver is not held: its leaks and broken rules then also cover the first
// context. A device that cannot be opened fails in the tests.
func hold() (release func()) {
	if _, simulated := NewSimulator(os.Getenv(cudaprobe.EnvLibrary)); simulated {
		return func() {}
	}
	driver, err := theDriver()
	if err != nil {
		return func() {}
	}
	id, err := device.ParseID(os.Getenv(Env))
	if err != nil {
		return func() {}
	}
	held, err := driver.Open(id.Index)
	if err != nil {
		return func() {}
	}
	return func() {
		if err := held.Close(); err != nil {
			panic(err)
		}
	}
}

var reasons map[string]string

// HostOnly skips a test on a device other than the host, with the reason in the list of
// Main.
func HostOnly(t testing.TB) {
	if OnHost() {
		return
	}
	name, _, _ := strings.Cut(t.Name(), "/")
	why, listed := reasons[name]
	if !listed {
		t.Fatalf("%s is not in the list of tests that only run on the host", name)
	}
	left.mu.Lock()
	left.out[name] = true
	left.mu.Unlock()
	t.Skip("only on the host: " + why)
}

// checkLeftOut compares the skipped tests with the list.
func checkLeftOut(hostOnly map[string]string) int {
	want, have := slices.Sorted(maps.Keys(hostOnly)), slices.Sorted(maps.Keys(left.out))
	if slices.Equal(want, have) {
		return 0
	}
	fmt.Fprintf(os.Stderr, "--- FAIL: left out were %v, and listed are %v\n", have, want)
	return 1
}

// checkSimulator queries the driver's library for leaks and violations, if it is a
// simulated one.
func checkSimulator() int {
	simulator, simulated := NewSimulator(os.Getenv(cudaprobe.EnvLibrary))
	if !simulated {
		return 0
	}
	code := 0
	for what, list := range map[string]string{"leaks": simulator.Leaks(), "broken rules": simulator.Violations()} {
		if list != "" {
			fmt.Fprintf(os.Stderr, "--- FAIL: %s:\n%s", what, list)
			code = 1
		}
	}
	return code
}
