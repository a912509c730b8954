package diskfile

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cacheView tells which parts of a file the page cache holds.
type cacheView struct {
	fd int
	// mapping is the whole file, for mincore only; nil: the system would not answer truly.
	mapping []byte
}

func openView(f *os.File, size int64) cacheView {
	v := cacheView{fd: int(f.Fd())}
	if size <= 0 || !isTold(f) {
		return v
	}
	// Nobody may read through it: a page behind the end of a file that became shorter would
	// be a fault.
	mapping, err := unix.Mmap(v.fd, 0, int(size), unix.PROT_NONE, unix.MAP_SHARED)
	if err == nil {
		v.mapping = mapping
	}
	return v
}

// isTold says whether mincore tells this process the truth about a file: its owner and those who
// may write it. All others are told that everything is in the cache.
func isTold(f *os.File) bool {
	var stat unix.Stat_t
	if unix.Fstat(int(f.Fd()), &stat) != nil {
		return false
	}
	if euid := os.Geteuid(); euid == 0 || uint32(euid) == stat.Uid {
		return true
	}
	return unix.Faccessat(unix.AT_FDCWD, f.Name(), unix.W_OK, unix.AT_EACCESS) == nil
}

func (v *cacheView) close() {
	if v.mapping != nil {
		_ = unix.Munmap(v.mapping)
		v.mapping = nil
	}
}

// holds says whether the page cache has all of a part of the file, which is not empty and at most
// windowBytes and a page long.
func (v *cacheView) holds(offset, size int64) bool {
	page := int64(os.Getpagesize())
	first, last := offset/page*page, offset+size
	if v.mapping == nil {
		return v.readsAtOnce(first) && v.readsAtOnce(last-1)
	}
	if last > int64(len(v.mapping)) {
		return false
	}
	var held [windowBytes/4096 + 2]byte
	pages := (last - first + page - 1) / page
	if pages > int64(len(held)) {
		return false
	}
	if err := mincore(v.mapping[first:last], held[:pages]); err != nil {
		return false
	}
	for _, is := range held[:pages] {
		if is&1 == 0 {
			return false
		}
	}
	return true
}

// readsAtOnce reads a byte if that needs no disk.
func (v *cacheView) readsAtOnce(offset int64) bool {
	var b [1]byte
	n, err := unix.Preadv2(v.fd, [][]byte{b[:]}, offset, unix.RWF_NOWAIT)
	return err == nil && n == 1
}

// mincore asks for each page of a mapping whether it is in memory.
func mincore(mapping, held []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(mapping))), uintptr(len(mapping)), uintptr(unsafe.Pointer(unsafe.SliceData(held))))
	if errno != 0 {
		return errno
	}
	return nil
}
