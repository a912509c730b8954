package sleep

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ferrum_mem/core/device"
)

// A file of what sleeps is of no use without the process that has written it. It goes
// with what sleeps in it; after a crash it is left behind, and whoever makes the next
// file in that directory removes it. A name says nothing of who owns a file, so nothing
// is removed by its name alone: what is ours begins with our magic, and while it is in
// use it has a lock, which ends with its process, whatever number that had. Before a name
// is removed it is compared with the open file that it is to be.

// filePattern is the names of the files.
const filePattern = "ferrum-sleep-*"

// diskFile is a file of what sleeps in a directory.
type diskFile struct{ *os.File }

// WriteAt fails with EFBIG where the process may have no file so large.
func (f diskFile) WriteAt(bytes []byte, at int64) (n int, err error) {
	err = device.WithinFileSizeLimit(func() error {
		n, err = f.File.WriteAt(bytes, at)
		return err
	})
	return n, err
}

// Remove removes the file, which may be gone already, with its directory, or have
// another file in its place.
func (f diskFile) Remove() error {
	if !isAt(f.File, f.Name()) {
		return nil
	}
	if err := os.Remove(f.Name()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// openFile makes a new file that only the user of this process can open.
func openFile(dir string) (File, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	removeLeftovers(dir)
	made, err := os.CreateTemp(dir, filePattern)
	if err != nil {
		return nil, err
	}
	f := diskFile{made}
	// It has its lock before it has the magic. Where there are no locks, nobody removes
	// what has none.
	_ = lock(made)
	if _, err := f.WriteAt([]byte(FileMagic), 0); err != nil {
		return nil, errors.Join(err, f.Remove(), f.Close())
	}
	return f, nil
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

// isOurs says whether an open file is one of what sleeps, of any process.
func isOurs(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	magic := make([]byte, len(FileMagic))
	_, err = f.ReadAt(magic, 0)
	return err == nil && string(magic) == FileMagic
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
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	if isOurs(f) && lock(f) && isAt(f, path) {
		_ = os.Remove(path)
	}
	_ = f.Close()
}

// NewKeepers keeps in memory outside of the Go heap and in files of a directory.
func NewKeepers() Keepers {
	return Keepers{TakeBlock: takeBlock, OpenFile: openFile, ChunkBytes: defaultChunkBytes}
}
