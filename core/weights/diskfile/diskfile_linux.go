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

	cached, around, through atomic.Uint64
}

// Open prepares an open regular file of a given size. The caller keeps the file open until Close.
func Open(file *os.File, size int64) *File {
	f := &File{file: file, size: size, view: openView(file, size)}
	// The descriptor is opened again by its number: the name may belong to another file by now.
	name := "/proc/self/fd/" + strconv.Itoa(int(file.Fd()))
	if fd, err := unix.Open(name, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0); err == nil {
		f.direct = os.NewFile(uintptr(fd), file.Name())
	}
	return f
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
		// Windows end at multiples of their length, so that direct reads have whole blocks.
		part := out[done:min(len(out), done+int(windowBytes-at%windowBytes))]
		n, err := f.window(part, at)
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// window reads a part of at most windowBytes.
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

// readDirect reads around the page cache.
func (f *File) readDirect(out []byte, offset int64) (int, error) {
	memory := int64(uintptr(unsafe.Pointer(unsafe.SliceData(out))) % Block)
	if memory != offset%Block {
		return f.shifted(out, offset)
	}
	done := 0
	if head := int((Block - offset%Block) % Block); head > 0 {
		n, err := f.buffered(out[:min(head, len(out))], offset)
		if done += n; err != nil || done == len(out) {
			return done, err
		}
	}
	if whole := (len(out) - done) / Block * Block; whole > 0 {
		n, err := f.direct.ReadAt(out[done:done+whole], offset+int64(done))
		f.around.Add(uint64(n))
		if done += n; err != nil {
			return done, err
		}
	}
	if done == len(out) {
		return done, nil
	}
	n, err := f.buffered(out[done:], offset+int64(done))
	return done + n, err
}

// shifted reads into memory whose alignment to Block differs from that of the offset in the file.
// It reads whole blocks into the next aligned address of the caller's memory and then moves them.
// So the disk writes directly into the caller's memory, which mostly has huge pages. A buffer with
// small pages would split one read into many requests.
func (f *File) shifted(out []byte, offset int64) (int, error) {
	head := int((Block - offset%Block) % Block)
	memory := int(uintptr(unsafe.Pointer(unsafe.SliceData(out))) % Block)
	at := head + Block - (memory+head)%Block
	whole := (len(out) - at) / Block * Block
	if whole < shiftedLeast {
		return f.buffered(out, offset)
	}
	if head > 0 {
		if n, err := f.buffered(out[:head], offset); err != nil {
			return n, err
		}
	}
	n, err := f.direct.ReadAt(out[at:at+whole], offset+int64(head))
	f.around.Add(uint64(n))
	done := head + copy(out[head:], out[at:at+n])
	if err != nil || done == len(out) {
		return done, err
	}
	n, err = f.buffered(out[done:], offset+int64(done))
	return done + n, err
}

// shiftedLeast is the shortest read for which the second request, for its end, is worth the cost.
const shiftedLeast = 128 << 10

// buffers holds the buffers of buffered for reuse: a new buffer for each read would first be
// zeroed.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// buffered reads whole blocks into a buffer, and copies the requested bytes.
func (f *File) buffered(out []byte, offset int64) (int, error) {
	first := offset / Block * Block
	last := (offset + int64(len(out)) + Block - 1) / Block * Block
	kept := buffers.Get().(*[]byte)
	defer buffers.Put(kept)
	if int64(len(*kept)) < last-first+Block {
		*kept = make([]byte, last-first+Block)
	}
	unaligned := int(uintptr(unsafe.Pointer(unsafe.SliceData(*kept))) % Block)
	blocks := (*kept)[(Block-unaligned)%Block:][:last-first]
	n, err := f.direct.ReadAt(blocks, first)
	skip := int(offset - first)
	if n <= skip {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return 0, err
	}
	n = copy(out, blocks[skip:n])
	f.around.Add(uint64(n))
	if n == len(out) {
		err = nil // the file ended behind the requested bytes
	}
	return n, err
}
