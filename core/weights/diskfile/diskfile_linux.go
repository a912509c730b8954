package diskfile

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// File is a file that is read without changing the page cache.
type File struct {
	file *os.File
	size int64
	view cacheView
	// direct is the descriptor for reads around the page cache. It is nil if the file system has no
	// such reads.
	direct *os.File
	// memoryAlign is the alignment that direct reads need in memory. It is at most Block.
	memoryAlign int

	cached, around, through atomic.Uint64
}

// Open prepares an open regular file of a given size. The caller keeps the file open until Close.
func Open(file *os.File, size int64) *File {
	f := &File{file: file, size: size, view: openView(file, size), memoryAlign: memoryAlignment(file)}
	// The descriptor is opened again by its number: the name may belong to another file by now.
	name := "/proc/self/fd/" + strconv.Itoa(int(file.Fd()))
	if fd, err := unix.Open(name, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0); err == nil {
		f.direct = os.NewFile(uintptr(fd), file.Name())
	}
	return f
}

// memoryAlignment queries the alignment that direct reads of a file need in memory. Systems before
// Linux 6.1 do not report it.
func memoryAlignment(file *os.File) int {
	var stat unix.Statx_t
	err := unix.Statx(int(file.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &stat)
	if align := stat.Dio_mem_align; err == nil && stat.Mask&unix.STATX_DIOALIGN != 0 && 0 < align && align < Block {
		return int(align)
	}
	return Block
}

// Close releases what Open created.
func (f *File) Close() error {
	f.view.close()
	if f.direct == nil {
		return nil
	}
	return f.direct.Close()
}

// Counts returns how bytes were read so far.
func (f *File) Counts() Counts {
	return Counts{Cached: f.cached.Load(), Direct: f.around.Load(), Through: f.through.Load()}
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(out []byte, offset int64) (int, error) {
	done := 0
	for done < len(out) {
		at := offset + int64(done)
		end := windowEnd(at, offset+int64(len(out)))
		n, err := f.window(out[done:end-offset], at)
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// windowEnd returns where the first window of the part [at, last) ends.
func windowEnd(at, last int64) int64 {
	end := (at+slackBytes)/windowBytes*windowBytes + windowBytes
	if end+slackBytes >= last {
		return last
	}
	return end
}

// window reads a part of at most windowBytes and twice slackBytes.
func (f *File) window(out []byte, offset int64) (int, error) {
	if f.view.holds(offset, int64(len(out))) {
		n, err := f.file.ReadAt(out, offset)
		f.cached.Add(uint64(n))
		return n, err
	}
	if f.direct != nil {
		n, err := f.readDirect(out, offset)
		if !errors.Is(err, unix.EINVAL) {
			return n, err
		}
	}
	n, err := f.file.ReadAt(out, offset)
	f.through.Add(uint64(n))
	// Only whole pages: the pages at the ends may hold bytes of a neighbour that was cached before.
	page := int64(os.Getpagesize())
	first, last := (offset+page-1)/page*page, (offset+int64(n))/page*page
	if first < last {
		_ = unix.Fadvise(int(f.file.Fd()), first, last-first, unix.FADV_DONTNEED)
	}
	return n, err
}

// readDirect reads around the page cache. One request reads the whole blocks that hold the part. Blocks
// inside the part go straight to their place in the memory of the caller, if its alignment suffices.
// Otherwise they go to the first address of that memory that is a multiple of Block, and readDirect then
// moves them to their place. Blocks at the ends go to a buffer. The memory of the caller mostly has huge
// pages; a buffer has small pages, and a request for many of them would be split.
func (f *File) readDirect(out []byte, offset int64) (int, error) {
	first := offset / Block * Block
	last := (offset + int64(len(out)) + Block - 1) / Block * Block
	head := int((Block - offset%Block) % Block)
	memory := int(uintptr(unsafe.Pointer(unsafe.SliceData(out))) % Block)
	// before bytes go to the first buffer, then inside bytes to out[at:], the others to the second.
	before, at := 0, (Block-memory)%Block
	if (memory+head)%f.memoryAlign == 0 {
		at = head
		before = (head + Block - 1) / Block * Block
	}
	at = min(at, len(out))
	inside := min((len(out)-at)/Block*Block, int(last-first)-before)
	kept := buffers.Get().(*[]byte)
	defer buffers.Put(kept)
	behind := int(last-first) - before - inside
	if needed := before + behind + Block; len(*kept) < needed {
		*kept = make([]byte, needed)
	}
	unaligned := int(uintptr(unsafe.Pointer(unsafe.SliceData(*kept))) % Block)
	blocks := (*kept)[(Block-unaligned)%Block:]
	read := [3][]byte{blocks[:before], out[at : at+inside], blocks[before : before+behind]}
	parts := read
	n, err := f.readParts(parts[:], first)
	skip := int(offset - first)
	n = min(n-skip, len(out))
	if n <= 0 {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return 0, err
	}
	done := 0
	for i, part := range read {
		skipped := min(skip, len(part))
		part, skip = part[skipped:], skip-skipped
		if i == 1 && done == at+skipped {
			done += len(part) // it is in its place
			continue
		}
		done += copy(out[done:], part)
	}
	f.around.Add(uint64(n))
	if n < len(out) && err == nil {
		err = io.EOF
	}
	if n == len(out) {
		err = nil // the file ended behind the requested bytes
	}
	return n, err
}

// readParts reads into parts of memory, one after the other. It returns the number of bytes read.
func (f *File) readParts(parts [][]byte, offset int64) (done int, err error) {
	for len(parts) > 0 {
		if len(parts[0]) == 0 {
			parts = parts[1:]
			continue
		}
		n, err := unix.Preadv(int(f.direct.Fd()), parts, offset+int64(done))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return done, err
		case n == 0:
			return done, io.EOF
		}
		done += n
		if n%Block != 0 {
			return done, io.EOF
		}
		for n > 0 {
			taken := min(n, len(parts[0]))
			parts[0], n = parts[0][taken:], n-taken
			if len(parts[0]) == 0 {
				parts = parts[1:]
			}
		}
	}
	return done, nil
}

// buffers has buffers for the blocks at the ends. A new buffer for each read would be zeroed first.
var buffers = sync.Pool{New: func() any { return new([]byte) }}
