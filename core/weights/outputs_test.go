package weights

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A new file gets its name, and never takes the name of an old one, also on file systems whose rename
// replaces files.
func TestNewFilesReplaceNothing(t *testing.T) {
	lacking := func(_, _ string) error { return unix.EINVAL }
	for _, rename := range []func(from, to string) error{renameExclusive, lacking} {
		folder := t.TempDir()
		from, to := filepath.Join(folder, "from"), filepath.Join(folder, "to")
		for what, create := range map[string]func() error{
			"a file":   func() error { return os.WriteFile(to, []byte("old"), 0o600) },
			"a folder": func() error { return os.Mkdir(to, 0o700) },
			"a link":   func() error { return os.Symlink("nowhere", to) },
		} {
			require.NoError(t, os.WriteFile(from, []byte("new"), 0o600))
			require.NoError(t, create())
			before, err := os.Lstat(to)
			require.NoError(t, err)
			require.ErrorIs(t, placeNew(from, to, rename), fs.ErrExist, what)
			after, err := os.Lstat(to)
			require.NoError(t, err)
			require.True(t, os.SameFile(before, after), what)
			require.NoError(t, os.Remove(to))
			require.NoError(t, placeNew(from, to, rename), what)
			text, err := os.ReadFile(to)
			require.NoError(t, err)
			require.Equal(t, "new", string(text))
			require.NoFileExists(t, from)
			require.NoError(t, os.Remove(to))
		}
		require.ErrorIs(t, placeNew(from, to, rename), fs.ErrNotExist)
	}
	broken := func(_, _ string) error { return unix.EIO }
	require.ErrorIs(t, placeNew("from", "to", broken), unix.EIO)
}
