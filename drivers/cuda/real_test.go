package cuda

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// The real library exports every function of the table and reports its version. Without a
// device it reports that there is none.
func TestTheRealLibraryHasEveryFunctionOfTheTable(t *testing.T) {
	paths, err := filepath.Glob("../../build/test/libcuda/usr/lib/*/nvidia/current/libcuda.so.1")
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skip("the vendor's library is not there (scripts/real_libcuda.sh)")
	}
	path, err := filepath.Abs(paths[0])
	require.NoError(t, err)
	if !alone(t, envLibrary+"="+path) {
		return
	}
	d := New(Config{Library: path})
	err = d.Probe()
	require.Equal(t, path, d.library)
	require.GreaterOrEqual(t, d.version, int32(11020))
	require.Equal(t, lackingIn(d.version), d.lacking)
	t.Logf("interface %s", versionText(d.version))
	if err == nil {
		return
	}
	// In a sandbox the system calls of the driver may fail differently.
	failure := requireCode(t, device.CodeBackendUnavailable, err)
	require.NotZero(t, failure.Native)
	require.Contains(t, failure.Message, "cuInit gave CUDA_ERROR_")
	t.Logf("%v", err)
}
