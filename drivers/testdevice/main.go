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

	// Every suite takes its flags, whether it draws or not.
	_ "pgregory.net/rapid"

	"ferrum_mem/drivers/cuda/cudaprobe"
)

// Suite is the pattern of the names of the tests that run on any device.
const Suite = "^TestOnDevice"

var left struct {
	mu  sync.Mutex
	out map[string]bool
}

// Main runs the tests of a package. Where a device other than the host is named, only
// those of the suite run, and hostOnly says by name which of them that device leaves
// out, and why: exactly these have to. A simulated driver must then have lost nothing
// and seen no rule broken. The result is the status for os.Exit.
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
	code := m.Run()
	if chosen == "" && flag.Lookup("test.list").Value.String() == "" {
		code = max(code, checkLeftOut(hostOnly))
	}
	return max(code, checkSimulator())
}

var reasons map[string]string

// HostOnly leaves a test out where it does not run on the host, for the reason that the
// list of Main has.
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

// checkLeftOut holds what was left out to the list.
func checkLeftOut(hostOnly map[string]string) int {
	want, have := slices.Sorted(maps.Keys(hostOnly)), slices.Sorted(maps.Keys(left.out))
	if slices.Equal(want, have) {
		return 0
	}
	fmt.Fprintf(os.Stderr, "--- FAIL: left out were %v, and listed are %v\n", have, want)
	return 1
}

// checkSimulator asks the driver's library what is left, if it is a simulated one.
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
