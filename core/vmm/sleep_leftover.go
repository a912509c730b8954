package vmm

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A file of what sleeps is of no use without the process that has written it. It goes
// with what sleeps in it; after a crash it is left behind, and whoever makes the next
// file in that directory removes it. A file that is in use has a lock, which ends with
// its process.

// filePattern is the names of the files.
const filePattern = "ferrum-sleep-*"

// openFile makes a new file that only the user of this process can open.
func openFile(dir string) (file, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	removeLeftovers(dir)
	for {
		made, err := os.CreateTemp(dir, filePattern)
		if err != nil {
			return nil, err
		}
		if !lock(made) {
			return made, nil // There are no locks here, and nobody removes what has none.
		}
		// Before it had its lock somebody may have thought it left behind.
		if isAt(made, made.Name()) {
			return made, nil
		}
		if err := made.Close(); err != nil {
			return nil, err
		}
	}
}

// lock takes the lock of a file, if nobody has it.
func lock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// isAt says whether a path leads to an open file.
func isAt(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(open, named)
}

// removeLeftovers removes what processes that are no more have left in a directory.
// What it may not look at, it leaves.
func removeLeftovers(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if ours, err := filepath.Match(filePattern, entry.Name()); err == nil && ours && entry.Type().IsRegular() {
			removeLeftover(filepath.Join(dir, entry.Name()))
		}
	}
}

func removeLeftover(path string) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	if lock(f) && isAt(f, path) {
		_ = os.Remove(path)
	}
	_ = f.Close()
}

// remove removes a file, which may be gone already, with its directory.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
