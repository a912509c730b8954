package hostpages

import (
	"golang.org/x/sys/unix"

	"ferrum_mem/drivers/internal/hostmemory"
)

// System returns the calls of the system that this process runs on.
func System() Calls {
	reader := hostmemory.New("/")
	return Calls{
		Map: func(size uint64) (uint64, error) {
			p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
			return uint64(uintptr(p)), err
		},
		Unmap: func(address, size uint64) error {
			_, _, number := unix.Syscall(unix.SYS_MUNMAP, uintptr(address), uintptr(size), 0)
			return errorOf(number)
		},
		KeepFromChildren: func(address, size uint64) error { return advise(address, size, unix.MADV_DONTFORK) },
		AdviseHuge:       func(address, size uint64) { _ = advise(address, size, unix.MADV_HUGEPAGE) },
		Populate: func(address, size uint64) error {
			// Before Linux 5.14 the pages get their memory when the runtime locks them.
			if err := advise(address, size, unix.MADV_POPULATE_WRITE); err != unix.EINVAL {
				return err
			}
			return nil
		},
		Available: func() (uint64, bool) {
			available := reader.Available()
			return available, available != hostmemory.Unlimited
		},
	}
}

func advise(address, size uint64, advice uintptr) error {
	for {
		_, _, number := unix.Syscall(unix.SYS_MADVISE, uintptr(address), uintptr(size), advice)
		if number != unix.EINTR {
			return errorOf(number)
		}
	}
}

func errorOf(number unix.Errno) error {
	if number == 0 {
		return nil
	}
	return number
}
