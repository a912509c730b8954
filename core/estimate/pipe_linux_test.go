package estimate

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// Opening a pipe blocks until another process opens its other end.
func TestOnlyFilesAreOpened(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{ConfigName, "model.safetensors", IndexName} {
		path := filepath.Join(folder, name)
		require.NoError(t, syscall.Mkfifo(path, 0o600))
		_, err := Open(path)
		assert.Equal(t, device.CodeInvalidArgument, device.CodeOf(err), name)
		assert.ErrorContains(t, err, name+" is not a file")
		require.NoError(t, os.Remove(path))
	}
}
