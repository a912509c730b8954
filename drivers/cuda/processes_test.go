package cuda

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// envOther is set in the second process of a test with two processes.
const envOther = "FERRUM_TEST_CUDA_OTHER"

// message is the data that the first process of a test passes to the second.
type message struct {
	Memory device.SharedMemory
	Event  device.ProcessHandle
	Addr   device.Addr
	Fabric device.FabricHandle
}

// isOther returns true in the second process of a test, after it has read the message.
func isOther(t *testing.T, m *message) bool {
	t.Helper()
	if os.Getenv(envOther) == "" {
		return false
	}
	require.NoError(t, json.NewDecoder(os.Stdin).Decode(m))
	return true
}

// runOther starts the second process of a test and waits for it. That process inherits the
// files as its descriptors from 3 on.
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

// descriptors counts the open descriptors of exported memory. It ignores all others,
// because the Go runtime may open descriptors at any time.
func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	count := 0
	for _, entry := range entries {
		// The descriptor of the listed folder itself may be closed already.
		if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.HasPrefix(target, "/memfd:simcuda-physical") {
			count++
		}
	}
	return count
}
