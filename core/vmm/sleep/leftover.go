package sleep

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ferrum_mem/core/device"
)

// A file of sleeping pages is useless without the process that wrote it. It is removed
// when its pages have woken or were freed. After a crash it is left behind, and the
// next process that creates a file in that directory removes it. The name of a file
// does not prove who owns it. So a file is removed only if it begins with the library's magic
// number and no process holds its lock. The lock ends with the process that holds it, even if the
// process number is reused. Before a name is removed, it is compared with the open
// file.

// filePattern is the pattern of the file names.
const filePattern = "ferrum-sleep-*"

// diskFile is a file of sleeping pages in a directory.
type diskFile struct{ *os.File }

// WriteAt fails with EFBIG if the process may not create a file of that size.
func (f diskFile) WriteAt(bytes []byte, at int64) (n int, err error) {
	err = device.WithinFileSizeLimit(func() error {
		n, err = f.File.WriteAt(bytes, at)
		return err
	})
	return n, err
}

// Remove removes the file. It accepts that the file or its directory no longer exists,
// and does nothing if another file has its name.
func (f diskFile) Remove() error {
	if !isAt(f.File, f.Name()) {
		return nil
	}
	if err := os.Remove(f.Name()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// openFile creates a new file that only the user of this process can open.
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
	// The file is locked before it has the magic. On a file system without locks no
	// process removes such a file, because a process removes only files that it can
	// lock.
	_ = lock(made)
	if _, err := f.WriteAt([]byte(FileMagic), 0); err != nil {
		return nil, errors.Join(err, f.Remove(), f.Close())
	}
	return f, nil
}

// lock locks a file, if no other process holds the lock.
func lock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// isAt reports whether a path leads to an open file.
func isAt(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(open, named)
}

// isOurs reports whether an open file is a file of sleeping pages, of any process.
func isOurs(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	magic := make([]byte, len(FileMagic))
	_, err = f.ReadAt(magic, 0)
	return err == nil && string(magic) == FileMagic
}

// removeLeftovers removes the files of ended processes from a directory. It skips what
// it cannot read.
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
