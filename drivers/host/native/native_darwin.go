package native

import "golang.org/x/sys/unix"

// MemTotal returns the memory of a machine without /proc.
func MemTotal() uint64 {
	total, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return total
}

// MemAvailable returns the pages that are free at once. false: not known. The system could
// provide more by dropping caches, so this is a lower bound.
func MemAvailable() (uint64, bool) {
	pages, err := unix.SysctlUint32("vm.page_free_count")
	if err != nil {
		return 0, false
	}
	size, err := unix.SysctlUint64("hw.pagesize")
	return uint64(pages) * size, err == nil
}

// Processor returns the model of the processor, or "".
func Processor() string {
	name, err := unix.Sysctl("machdep.cpu.brand_string")
	if err != nil {
		return ""
	}
	return name
}
