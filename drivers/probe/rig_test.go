//go:build linux

package probe_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/discover"
	"ferrum_mem/drivers"
)

// The helper and the simulated libraries are built once for all tests, including tests in
// separate processes.
var built = os.Getenv(builtBefore)

const builtBefore = "FERRUM_TEST_BUILT"

func TestMain(m *testing.M) {
	if built != "" {
		os.Exit(m.Run())
	}
	folder, err := os.MkdirTemp("", "ferrum-probe-")
	if err == nil {
		built = folder
		err = build()
	}
	status := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		status = m.Run()
	}
	_ = os.RemoveAll(folder)
	os.Exit(status)
}

// libraries are the file names by which the simulated libraries are found.
var libraries = map[string]string{
	"cuda": "libcuda.so.1", "rocm": "libamdhip64.so.6", "opencl": "libOpenCL.so.1",
}

var sources = map[string]string{"cuda": "cuda.c", "rocm": "hip.c", "opencl": "opencl.c"}

func build() error {
	command := exec.Command("go", "build", "-o", helper(), "ferrum_mem/cmd/ferrum-mem-probe")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building the helper: %w\n%s", err, output)
	}
	for backend, name := range libraries {
		for kind, flags := range map[string][]string{"whole": nil, "lacking": {"-DWITHOUT_SYMBOL"}} {
			folder := filepath.Join(built, kind, backend)
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
			arguments := append([]string{"-std=gnu11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-fvisibility=hidden",
				"-o", filepath.Join(folder, name), filepath.Join("..", "..", "tests", "simulated", sources[backend])}, flags...)
			if output, err := exec.Command("cc", arguments...).CombinedOutput(); err != nil {
				return fmt.Errorf("building %s: %w\n%s", name, err, output)
			}
		}
	}
	return nil
}

func helper() string { return filepath.Join(built, "ferrum-mem-probe") }

// world is a machine with one simulated library.
type world struct {
	backend string
	// kind is "whole", "lacking", or "" for no library.
	kind      string
	behaviour string
	report    string
	isolation discover.Isolation
}

func (w world) environ() []string {
	var environ []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "LD_LIBRARY_PATH=") {
			environ = append(environ, entry)
		}
	}
	if w.kind != "" {
		environ = append(environ, "LD_LIBRARY_PATH="+filepath.Join(built, w.kind, w.backend))
	}
	return append(environ, "SIMULATED="+w.behaviour, "SIMULATED_REPORT="+w.report)
}

func (w world) registry() *discover.Registry {
	config := discover.Config{Isolation: w.isolation}
	for _, surveyor := range drivers.Surveyors() {
		if surveyor.Backend() == w.backend {
			config.Surveyors = append(config.Surveyors, surveyor)
		}
	}
	if config.Isolation.Helper == "" && config.Isolation.Candidates == nil {
		config.Isolation.Helper = helper()
	}
	if config.Isolation.Timeout == 0 {
		config.Isolation.Timeout = time.Minute
	}
	config.Isolation.Environ = w.environ
	return discover.NewRegistry(config)
}

// look surveys that machine.
func (w world) look(t *testing.T) discover.Backend {
	t.Helper()
	found := w.registry().Discover().Backends
	require.Len(t, found, 1)
	require.Equal(t, w.backend, found[0].Name)
	return found[0]
}

func requireAbsent(t *testing.T, b discover.Backend, why device.Absence, native int64, words ...string) {
	t.Helper()
	require.False(t, b.Available)
	require.Equal(t, why, b.Absence, b.Reason())
	require.ErrorIs(t, b.Err, device.CodeBackendUnavailable)
	var typed *device.Error
	require.ErrorAs(t, b.Err, &typed)
	require.Equal(t, native, typed.Native, b.Reason())
	for _, word := range words {
		require.Contains(t, b.Reason(), word)
	}
	require.Empty(t, b.Devices)
}
