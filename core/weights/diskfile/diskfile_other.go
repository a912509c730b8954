//go:build !linux

package diskfile

import (
	"os"
	"sync/atomic"
)

// File is a file that is read through the page cache. Only on Linux are files read around it.
type File struct {
	file    *os.File
	through atomic.Uint64
}

// Open prepares an open regular file.
func Open(file *os.File, _ int64) *File { return &File{file: file} }

// Close does nothing.
func (f *File) Close() error { return nil }

// Counts returns how bytes were read so far.
func (f *File) Counts() Counts { return Counts{Through: f.through.Load()} }

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(out []byte, offset int64) (int, error) {
	n, err := f.file.ReadAt(out, offset)
	f.through.Add(uint64(n))
	return n, err
}

// Holds returns true: this system does not report what the page cache has. Callers release only
// pages that they have read, so they release none here.
func (f *File) Holds(_, _ int64) bool { return true }

// Warm reads a part of the file into the page cache.
func (f *File) Warm(offset, size int64) error {
	buffer := make([]byte, min(size, windowBytes))
	for done := int64(0); done < size; {
		part := buffer[:min(size-done, windowBytes)]
		if _, err := f.file.ReadAt(part, offset+done); err != nil {
			return err
		}
		done += int64(len(part))
	}
	return nil
}

// Ahead does nothing.
func (f *File) Ahead(_, _ int64) {}

// Forget does nothing.
func (f *File) Forget(_, _ int64) {}
