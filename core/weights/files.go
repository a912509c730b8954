package weights

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights/diskfile"
	"ferrum_mem/core/weights/header"
)

const opOpen = "weights.open"

// file is one open file of a source, or memory.
type file struct {
	// name is the path, as errors show it.
	name string
	// number is the index of the file among the files of the source.
	number int
	size   uint64
	reader io.ReaderAt
	// opened is nil for memory.
	opened *os.File
}

func (f *file) input() header.Input {
	return header.Input{Name: f.name, Bytes: f.reader, Size: f.size}
}

// openFile opens a regular file. It rejects pipes and devices, which would block or never end.
func openFile(path string) (*file, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, device.Errorf(device.CodeInvalidArgument, opOpen, "%s is not a file", path)
	}
	opened, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	// The size is that of the opened file, which may have replaced the file that was checked
	// before.
	if info, err = opened.Stat(); err != nil || !info.Mode().IsRegular() {
		opened.Close()
		return nil, device.Errorf(device.CodeInvalidArgument, opOpen, "%s is not a file", path)
	}
	return &file{name: path, size: uint64(info.Size()), reader: diskfile.Open(opened, info.Size()), opened: opened}, nil
}

func (f *file) close() error {
	if f.opened == nil {
		return nil
	}
	return errors.Join(f.reader.(io.Closer).Close(), f.opened.Close())
}

// fileError returns an error of finding, opening or reading a file.
func fileError(path string, err error) error {
	var inner *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return device.Errorf(device.CodeNotFound, opOpen, "%s: there is no such file or folder", path)
	case errors.Is(err, fs.ErrPermission):
		return device.Errorf(device.CodePermissionDenied, opOpen, "%s: %w", path, fs.ErrPermission)
	case errors.As(err, &inner):
		err = inner.Err
	}
	return device.Errorf(device.CodeIO, opOpen, "%s: %w", path, err)
}

// inFolder returns the path of a file that another file names. The name may not leave the folder. A
// symbolic link in the folder may, because caches of downloads have such links.
func inFolder(of, name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", device.Errorf(device.CodeInvalidFormat, opOpen, "%s: names the file %q, which is outside of its folder", of, name)
	}
	return filepath.Join(filepath.Dir(of), name), nil
}

// cancelled returns the error of a call whose context has ended.
func cancelled(op, what string, done, all uint64) error {
	return device.Errorf(device.CodeCancelled, op, "%s was cancelled after %v of %v", what, device.Size(done), device.Size(all))
}
