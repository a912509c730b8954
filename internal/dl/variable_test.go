package dl

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPathInAVariable(t *testing.T) {
	require.False(t, hasMoreRights(), "tests run with their user's rights")
	t.Setenv("FERRUM_TEST_LIBRARY", "/nowhere/lib.so")
	require.Equal(t, "/nowhere/lib.so", PathIn("FERRUM_TEST_LIBRARY"))
	t.Setenv("FERRUM_TEST_LIBRARY", "")
	require.Empty(t, PathIn("FERRUM_TEST_LIBRARY"))
}
