package backend_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// requireError checks the code of an error, and that its message names something.
func requireError(t testing.TB, code device.Code, err error, names ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, device.CodeOf(err), "%v", err)
	var typed *device.Error
	require.True(t, errors.As(err, &typed))
	for _, name := range names {
		require.ErrorContains(t, err, name)
	}
}
