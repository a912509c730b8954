package installed

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// The variable is the only place that is tried if it is set.
func TestVariableNamesTheLibrary(t *testing.T) {
	t.Setenv(Variable, "/nowhere/lib.so")
	require.Equal(t, []string{"/nowhere/lib.so"}, candidates())
	t.Setenv(Variable, "")
	names := candidates()
	require.Len(t, names, 2)
	require.Equal(t, filepath.Join("lib", FileName), filepath.Join(filepath.Base(filepath.Dir(names[0])), filepath.Base(names[0])))
	require.Equal(t, FileName, names[1])
}

func TestMissingAndWrongLibrariesAreUnavailable(t *testing.T) {
	wrong := filepath.Join(t.TempDir(), "lib.so")
	require.NoError(t, os.WriteFile(wrong, []byte("no library"), 0o600))
	for _, path := range []string{"/nowhere/lib.so", wrong} {
		t.Setenv(Variable, path)
		_, err := Open()
		require.Equal(t, device.CodeBackendUnavailable, device.CodeOf(err))
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, Variable)
	}
}

// A library of another kind lacks the functions.
func TestOtherLibrariesAreUnavailable(t *testing.T) {
	t.Setenv(Variable, "libc.so.6")
	_, err := Open()
	require.Equal(t, device.CodeBackendUnavailable, device.CodeOf(err))
	require.ErrorContains(t, err, "ferrum_executor_run")
}
