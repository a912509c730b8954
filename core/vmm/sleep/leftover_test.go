package sleep

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// put creates a file with some content.
func put(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	bytes, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(bytes)
}

// files lists the names in a directory.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// Files of sleeping pages are in a directory that other programs use as well. Other
// files stay, whatever their names.
func TestOnlyLeftoverSleepFilesAreRemoved(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	stays := map[string]string{
		"ferrum-sleep-notes.txt": "not to be lost", "ferrum-sleep-": "", "ferrum-sleep-empty": "",
		"ferrum-sleep-short": FileMagic[:len(FileMagic)-1], "ferrum-sleep-1234567": "\x89FERRUM-SLEEP\r\n\x1b and more",
		"sleep": FileMagic,
	}
	for name, text := range stays {
		put(t, dir, name, text)
	}
	// Links, and files that cannot be read like a regular file.
	target := put(t, elsewhere, "ferrum-sleep-target", FileMagic)
	require.NoError(t, os.Symlink(target, filepath.Join(dir, "ferrum-sleep-link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "ferrum-sleep-pipe"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "ferrum-sleep-folder"), 0o700))
	// A process holds the lock, so it is running.
	held := put(t, dir, "ferrum-sleep-held", FileMagic+"...")
	owner, err := os.Open(held)
	require.NoError(t, err)
	require.True(t, lock(owner))
	put(t, dir, "ferrum-sleep-left", FileMagic)
	put(t, dir, "ferrum-sleep-left-too", FileMagic+"and what slept")

	removeLeftovers(dir)
	for name, text := range stays {
		require.Equal(t, text, content(t, filepath.Join(dir, name)), name)
	}
	require.Equal(t, FileMagic, content(t, target))
	require.ElementsMatch(t, []string{
		"ferrum-sleep-notes.txt", "ferrum-sleep-", "ferrum-sleep-empty", "ferrum-sleep-short", "ferrum-sleep-1234567", "sleep",
		"ferrum-sleep-link", "ferrum-sleep-pipe", "ferrum-sleep-folder", "ferrum-sleep-held",
	}, files(t, dir))
	// The same file after its owner has ended, even if another process has its number
	// now.
	require.NoError(t, owner.Close())
	removeLeftovers(dir)
	require.NotContains(t, files(t, dir), "ferrum-sleep-held")
}
