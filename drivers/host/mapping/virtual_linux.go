package mapping

import (
	"bytes"
	"errors"
	"math"
	"sync"

	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
)

const reserveFlags = unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_NORESERVE

// SystemVirtual returns the calls of the system that this process runs on.
func SystemVirtual() *VirtualCalls {
	return &VirtualCalls{
		Reserve: func(size uint64) (uint64, error) {
			p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_NONE, reserveFlags)
			return uint64(uintptr(p)), err
		},
		Clear: func(address, size uint64) error {
			_, err := unix.MmapPtr(-1, 0, Pointer(address), uintptr(size), unix.PROT_NONE, reserveFlags|unix.MAP_FIXED)
			return err
		},
		Protect: func(address, size uint64, access device.Access) error {
			return systemCall(unix.SYS_MPROTECT, address, size, protection(access))
		},
		Forget: func(address, size uint64) error {
			return systemCall(unix.SYS_MADVISE, address, size, unix.MADV_DONTNEED)
		},
		Touch:  func(address uint64) { *(*byte)(Pointer(address)) = 0 },
		Loosen: func(address, size uint64) { _ = systemCall(unix.SYS_MADVISE, address, size, unix.MADV_DONTNEED) },
		MapFile: func(address, size uint64, file FilePart, access device.Access) error {
			_, err := unix.MmapPtr(file.FD, int64(file.Offset), Pointer(address), uintptr(size), int(protection(access)),
				unix.MAP_SHARED|unix.MAP_FIXED)
			return err
		},
		KeepFromChildren: func(address, size uint64) error {
			return systemCall(unix.SYS_MADVISE, address, size, unix.MADV_DONTFORK)
		},
		OpenFile:        openMemoryFile,
		CloseFile:       unix.Close,
		CopyFile:        func(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) },
		SealedBytes:     sealedBytes,
		Punch:           punch,
		Overwrite:       overwrite,
		FileBytes:       fileBytes,
		FileResident:    fileResident,
		PrivateResident: privateResident,
		Mappings:        countMappings,
		MakeMappings:    makeMappings,
		Unmap:           unmap,
	}
}

func makeMappings(count uint64) (address, size uint64, err error) {
	page := uint64(unix.Getpagesize())
	size = count * page
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_NONE, reserveFlags)
	if err != nil {
		return 0, 0, err
	}
	address = uint64(uintptr(p))
	for at := address; at < address+size && err == nil; at += 2 * page {
		err = systemCall(unix.SYS_MPROTECT, at, page, unix.PROT_READ)
	}
	if err != nil {
		_ = unmap(address, size)
	}
	return address, size, err
}

func unmap(address, size uint64) error { return unix.MunmapPtr(Pointer(address), uintptr(size)) }

// systemCall makes a system call on a range of addresses. It does not use a slice, because
// Go would inspect the slice.
func systemCall(number uintptr, address, size, argument uint64) error {
	if _, _, errno := unix.Syscall(number, uintptr(address), uintptr(size), uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}

func protection(access device.Access) uint64 {
	switch access {
	case device.AccessRead:
		return unix.PROT_READ
	case device.AccessReadWrite:
		return unix.PROT_READ | unix.PROT_WRITE
	}
	return unix.PROT_NONE
}

// openMemoryFile creates a memory file in its final size and seals the size. Its pages get
// memory when they are first touched, and a process that receives it cannot cut off pages
// that others have mapped. The process's limit on the size of files applies.
func openMemoryFile(size uint64) (int, uint64, error) {
	size = min(size, math.MaxInt64)
	fd, err := unix.MemfdCreate("ferrum_mem pages", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, 0, err
	}
	if size, err = resize(fd, size); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, 0, err
	}
	// Nothing uses the access time, and updating it takes a fiftieth of the time of a
	// mapping.
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_NOATIME)
	return fd, size, nil
}

// resize makes a file as large as the process may have one, at most size.
func resize(fd int, size uint64) (uint64, error) {
	for {
		size = min(size, device.FileSizeLimit())
		err := device.WithinFileSizeLimit(func() error {
			_, err := UntilNotInterrupted(func() (int, error) { return 0, unix.Ftruncate(fd, int64(size)) })
			return err
		})
		// Another thread may have lowered the limit.
		if !errors.Is(err, unix.EFBIG) || device.FileSizeLimit() >= size {
			return size, err
		}
	}
}

func sealedBytes(fd int) (uint64, error) {
	var status unix.Stat_t
	if err := unix.Fstat(fd, &status); err != nil {
		return 0, err
	}
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 {
		return 0, errors.New("is not a page that was exported")
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR || seals&(unix.F_SEAL_WRITE|unix.F_SEAL_FUTURE_WRITE) != 0 {
		return 0, errors.New("is memory that may not be written")
	}
	return uint64(status.Size), nil
}

func punch(file FilePart, size uint64) error {
	_, err := UntilNotInterrupted(func() (int, error) {
		return 0, unix.Fallocate(file.FD, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE,
			int64(file.Offset), int64(size))
	})
	switch err {
	case unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EOPNOTSUPP:
		// A filter of system calls may allow only the other call for the same effect.
		if punchMapped(file, size) == nil {
			return nil
		}
	}
	return err
}

// punchMapped is punch through a mapping of the file.
func punchMapped(file FilePart, size uint64) error {
	const readWrite = unix.PROT_READ | unix.PROT_WRITE
	part, err := unix.Mmap(file.FD, int64(file.Offset), int(size), readWrite, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	err = unix.Madvise(part, unix.MADV_REMOVE)
	_ = unix.Munmap(part)
	return err
}

// extents calls found for each part of a range of a file that exists, in order.
func extents(file FilePart, size uint64, found func(offset, size uint64) error) error {
	end := file.Offset + size
	for at := file.Offset; at < end; {
		start, err := unix.Seek(file.FD, int64(at), unix.SEEK_DATA)
		if err == unix.ENXIO || (err == nil && uint64(start) >= end) {
			return nil
		}
		if err != nil {
			return err
		}
		hole, err := unix.Seek(file.FD, start, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		at = min(end, uint64(hole))
		if err := found(uint64(start), at-uint64(start)); err != nil {
			return err
		}
	}
	return nil
}

// zeros is the block that overwrite writes.
var zeros [256 << 10]byte

// overwrite is subject to the process's limit on the size of files, which may be lower now
// than when the file was created.
func overwrite(file FilePart, size uint64) error {
	return extents(file, size, func(offset, size uint64) error {
		return device.WithinFileSizeLimit(func() error { return overwritePart(file.FD, offset, size) })
	})
}

func overwritePart(fd int, offset, size uint64) error {
	for size > 0 {
		n, err := UntilNotInterrupted(func() (int, error) {
			return unix.Pwrite(fd, zeros[:min(size, uint64(len(zeros)))], int64(offset))
		})
		if err != nil {
			return err
		}
		offset, size = offset+uint64(n), size-uint64(n)
	}
	return nil
}

func fileResident(file FilePart, size uint64) (uint64, error) {
	var sum uint64
	err := extents(file, size, func(_, size uint64) error {
		sum += size
		return nil
	})
	return sum, err
}

// fileBytes returns 0 if the system does not report the value.
func fileBytes(fd int) uint64 {
	var status unix.Stat_t
	if err := unix.Fstat(fd, &status); err != nil || status.Blocks < 0 {
		return 0
	}
	return uint64(status.Blocks) * 512
}

// counting is the buffer of countMappings. It is allocated in advance, because
// countMappings is called when the process may be unable to allocate memory.
var counting struct {
	mu     sync.Mutex
	buffer [64 << 10]byte
}

// countMappings counts the lines of a file that has some megabytes when the number of
// mappings is at its limit. It returns 0 if the file cannot be read.
func countMappings() uint64 {
	counting.mu.Lock()
	defer counting.mu.Unlock()
	open := func() (int, error) { return unix.Open("/proc/self/maps", unix.O_RDONLY|unix.O_CLOEXEC, 0) }
	fd, err := UntilNotInterrupted(open)
	if err != nil {
		return 0
	}
	defer func() { _ = unix.Close(fd) }()
	read := func() (int, error) { return unix.Read(fd, counting.buffer[:]) }
	var lines uint64
	for {
		n, err := UntilNotInterrupted(read)
		if err != nil || n <= 0 {
			return lines
		}
		lines += uint64(bytes.Count(counting.buffer[:n], []byte{'\n'}))
	}
}
