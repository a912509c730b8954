package cuda

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// envOther is set in the second process of a test of two.
const envOther = "FERRUM_TEST_CUDA_OTHER"

// message is what the first process of a test tells the second.
type message struct {
	Memory device.SharedMemory
	Event  device.ProcessHandle
	Addr   device.Addr
}

// isOther says that this is the second process of a test, and gives what it was told.
func isOther(t *testing.T, m *message) bool {
	t.Helper()
	if os.Getenv(envOther) == "" {
		return false
	}
	require.NoError(t, json.NewDecoder(os.Stdin).Decode(m))
	return true
}

// runOther starts the second process of a test, which has those files from descriptor 3
// on, and waits for it.
func runOther(t *testing.T, m message, files ...*os.File) {
	t.Helper()
	var told bytes.Buffer
	require.NoError(t, json.NewEncoder(&told).Encode(m))
	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.count=1", "-test.v", "-test.timeout=60s")
	child.Env = append(os.Environ(), envAlone+"=1", envOther+"=1")
	child.Stdin, child.ExtraFiles = &told, files
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "%s", out)
}

// descriptors counts those that the process has open, with those that the runtime opens
// for itself when it first needs them.
func descriptors(t *testing.T) int {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.NoError(t, w.Close())
	open, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	return len(open)
}
