package diskfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// Holds states whether the page cache has all of a part of the file.
func (f *File) Holds(offset, size int64) bool {
	for done := int64(0); done < size; {
		part := min(size-done, windowBytes)
		if !f.view.holds(offset+done, part) {
			return false
		}
		done += part
	}
	return true
}

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

// Ahead asks the system to begin reading a part of the file into the page cache.
func (f *File) Ahead(offset, size int64) {
	_ = unix.Fadvise(int(f.file.Fd()), offset, size, unix.FADV_WILLNEED)
}

// Forget releases the pages of the page cache that lie completely in a part of the file. Pages that
// a program has mapped stay.
func (f *File) Forget(offset, size int64) {
	page := int64(os.Getpagesize())
	first, last := (offset+page-1)/page*page, (offset+size)/page*page
	if offset+size >= f.size {
		last = (f.size + page - 1) / page * page
	}
	if first < last {
		_ = unix.Fadvise(int(f.file.Fd()), first, last-first, unix.FADV_DONTNEED)
	}
}
