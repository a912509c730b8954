package diskfile

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cacheView checks which parts of a file the page cache holds.
type cacheView struct {
	fd int
	// counts is set if the system counts the cached pages of a part of this file (cachestat). A
	// load of a resident file of 512 MiB then took 1.02 times the time of plain reads, and 1.12
	// times with mincore.
	counts bool
	// mapping is the whole file, for mincore only. It is nil if it is not needed, or if the system
	// would not report the truth.
	mapping []byte
}

func openView(f *os.File, size int64) cacheView {
	v := cacheView{fd: int(f.Fd())}
	if _, err := v.cachedPages(0, 1); err == nil {
		v.counts = true
		return v
	}
	return openMappedView(f, size)
}

// openMappedView opens the view for systems that do not count pages.
func openMappedView(f *os.File, size int64) cacheView {
	v := cacheView{fd: int(f.Fd())}
	if size <= 0 || !isTold(f) {
		return v
	}
	// The mapping has no access right: if the file became shorter, reading a page behind its end
	// would be a fault.
	mapping, err := unix.Mmap(v.fd, 0, int(size), unix.PROT_NONE, unix.MAP_SHARED)
	if err == nil {
		v.mapping = mapping
	}
	return v
}

// isTold states whether mincore reports the truth about a file to this process. It does for the
// owner of the file and for users who may write the file. To all others it reports every page as
// cached.
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

// holds states whether the page cache has all of a part of the file. The part is not empty and is
// at most windowBytes and twice slackBytes long.
func (v *cacheView) holds(offset, size int64) bool {
	page := int64(os.Getpagesize())
	first, last := offset/page*page, offset+size
	if v.counts {
		cached, err := v.cachedPages(first, last-first)
		return err == nil && cached == uint64((last-first+page-1)/page)
	}
	if v.mapping == nil {
		return v.readsAtOnce(first) && v.readsAtOnce(last-1)
	}
	if last > int64(len(v.mapping)) {
		return false
	}
	var held [(windowBytes+2*slackBytes)/4096 + 2]byte
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

// cachedPages counts the pages of a part of the file that the page cache has. The owner of a file may
// ask, and those who may write it.
func (v *cacheView) cachedPages(offset, size int64) (uint64, error) {
	var found unix.Cachestat_t
	part := unix.CachestatRange{Off: uint64(offset), Len: uint64(size)}
	err := unix.Cachestat(uint(v.fd), &part, &found, 0)
	return found.Cache, err
}

// readsAtOnce reads a byte if that needs no disk.
func (v *cacheView) readsAtOnce(offset int64) bool {
	var b [1]byte
	n, err := unix.Preadv2(v.fd, [][]byte{b[:]}, offset, unix.RWF_NOWAIT)
	return err == nil && n == 1
}

// mincore queries for each page of a mapping whether it is in memory.
func mincore(mapping, held []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(mapping))), uintptr(len(mapping)), uintptr(unsafe.Pointer(unsafe.SliceData(held))))
	if errno != 0 {
		return errno
	}
	return nil
}
