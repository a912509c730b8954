package mapping

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The categories of pages in the system's PAGEMAP_SCAN (include/uapi/linux/fs.h, Linux
// 6.7).
const (
	pagePresent  = 1 << 3
	pageSwapped  = 1 << 4
	pageZero     = 1 << 5
	pageMapScan  = 0xc0606610
	regionsAtOne = 256
)

// scanArguments is struct pm_scan_arg.
type scanArguments struct {
	size, flags         uint64
	start, end, walkEnd uint64
	regions             *pageRegion
	regionCount         uint64
	maxPages            uint64
	inverted, mask      uint64
	anyOf, returned     uint64
}

// pageRegion is struct page_region.
type pageRegion struct{ start, end, _ uint64 }

// privateResident counts the small pages of a private range that have their own memory,
// including swapped-out pages. The shared page of zeros, which a read maps, does not count.
// Before Linux 6.7 it cannot be distinguished and counts too.
func privateResident(address, size uint64) (uint64, error) {
	fd, err := unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	sum, err := scanResident(fd, address, size)
	if err == unix.ENOTTY || err == unix.EINVAL {
		return readResident(fd, address, size)
	}
	return sum, err
}

func scanResident(fd int, address, size uint64) (uint64, error) {
	regions := make([]pageRegion, regionsAtOne)
	var sum uint64
	for at := address; at < address+size; {
		a := scanArguments{
			start: at, end: address + size,
			regions: &regions[0], regionCount: regionsAtOne,
			inverted: pageZero, mask: pageZero, anyOf: pagePresent | pageSwapped, returned: pagePresent,
		}
		a.size = uint64(unsafe.Sizeof(a))
		n, err := UntilNotInterrupted(func() (int, error) {
			n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), pageMapScan, uintptr(unsafe.Pointer(&a)))
			if errno != 0 {
				return 0, errno
			}
			return int(n), nil
		})
		if err != nil {
			return 0, err
		}
		for _, found := range regions[:n] {
			sum += found.end - found.start
		}
		if a.walkEnd <= at {
			break
		}
		at = a.walkEnd
	}
	return sum, nil
}

// readResident reads one word for each small page: bit 63 means present, bit 62 means
// swapped out.
func readResident(fd int, address, size uint64) (uint64, error) {
	page := uint64(os.Getpagesize())
	words := make([]uint64, 8<<10)
	var sum uint64
	for done := uint64(0); done < size; {
		n := min((size-done)/page, uint64(len(words)))
		buffer := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n*8)
		offset := int64((address + done) / page * 8)
		got, err := UntilNotInterrupted(func() (int, error) { return unix.Pread(fd, buffer, offset) })
		if err != nil {
			return 0, err
		}
		if got < 8 {
			break
		}
		for _, word := range words[:got/8] {
			if word>>62 != 0 {
				sum += page
			}
		}
		done += uint64(got/8) * page
	}
	return sum, nil
}
