package diskfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// Warm reads a part of a file into the page cache unless it is there. It reports whether it was not.
func (f *File) Warm(offset, size int64) (read bool, err error) {
	buffer := make([]byte, windowBytes)
	for done := int64(0); done < size; {
		at := offset + done
		part := min(size-done, windowBytes-at%windowBytes)
		if !f.view.holds(at, part) {
			read = true
			if _, err := f.file.ReadAt(buffer[:part], at); err != nil {
				return read, err
			}
		}
		done += part
	}
	return read, nil
}

// Ahead asks the system to begin reading a part of a file into the page cache.
func (f *File) Ahead(offset, size int64) {
	_ = unix.Fadvise(int(f.file.Fd()), offset, size, unix.FADV_WILLNEED)
}

// Forget gives back the pages of the page cache that a part of a file has to itself. Pages that a
// program has mapped stay.
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
