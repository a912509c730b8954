package mapping

import "ferrum_mem/core/device"

// VirtualCalls are the system calls of virtual memory. Every call does all of its work or
// none, except Protect, which may stop half-way.
type VirtualCalls struct {
	// Reserve maps address space that must not be touched.
	Reserve func(size uint64) (address uint64, err error)
	// Clear replaces the mappings of a range by such address space.
	Clear func(address, size uint64) error
	// Protect sets the access to private memory.
	Protect func(address, size uint64, access device.Access) error
	// Forget releases the memory of a private range to the system.
	Forget func(address, size uint64) error
	// Touch makes the system allocate a small page of a writable private range.
	Touch func(address uint64)
	// Loosen removes the memory of a file from the page tables of a range. The next touch
	// maps it again. Loosen does not block threads that map elsewhere. It may do nothing.
	Loosen func(address, size uint64)
	// MapFile replaces the mappings of a range by a part of a file.
	MapFile func(address, size uint64, file FilePart, access device.Access) error
	// KeepFromChildren excludes a range from the memory of forked processes.
	KeepFromChildren func(address, size uint64) error
	// OpenFile creates an empty file of that size and returns its size, which is less if
	// the process may not have a file that large.
	OpenFile  func(size uint64) (fd int, sizeBytes uint64, err error)
	CloseFile func(fd int) error
	// CopyFile returns another descriptor of a file, which is closed on exec.
	CopyFile func(fd int) (int, error)
	// SealedBytes returns the size of a memory file that can be read and written and that
	// cannot shrink. It returns an error for any other descriptor.
	SealedBytes func(fd int) (uint64, error)
	// Punch releases a part of a file to the system. The part then reads as zeros.
	Punch func(file FilePart, size uint64) error
	// Overwrite writes zeros over the existing parts of a range of a file.
	Overwrite func(file FilePart, size uint64) error
	// FileBytes returns how much memory a file has.
	FileBytes func(fd int) uint64
	// FileResident and PrivateResident return how many bytes of a part of a file, or of a
	// private range, have memory.
	FileResident    func(file FilePart, size uint64) (uint64, error)
	PrivateResident func(address, size uint64) (uint64, error)
	// Mappings counts the mappings of this process.
	Mappings func() uint64
	// MakeMappings creates count mappings without access, in a row of as many small pages.
	// Unmap releases them, also in parts.
	MakeMappings func(count uint64) (address, size uint64, err error)
	Unmap        func(address, size uint64) error
}

// FilePart is the start of a part of a file.
type FilePart struct {
	FD     int
	Offset uint64
}
