package mapping

import "ferrum_mem/core/device"

// VirtualCalls is what virtual memory needs from the system. Every call does
// all or nothing, but Protect, which may stop half-way.
type VirtualCalls struct {
	// Reserve maps address space that nobody may touch.
	Reserve func(size uint64) (address uint64, err error)
	// Clear puts such address space in place of whatever is in a range.
	Clear func(address, size uint64) error
	// Protect says what may be done with private memory.
	Protect func(address, size uint64, access device.Access) error
	// Forget gives the memory of a private range back to the system.
	Forget func(address, size uint64) error
	// Touch brings a small page of a writable private range into being.
	Touch func(address uint64)
	// Loosen takes the memory of a file out of the page tables of a range, where it
	// comes back at the next touch, without holding up who maps elsewhere. It may do
	// nothing.
	Loosen func(address, size uint64)
	// MapFile puts a part of a file in place of whatever is in a range.
	MapFile func(address, size uint64, file FilePart, access device.Access) error
	// KeepFromChildren leaves a range out of the memory of processes forked off.
	KeepFromChildren func(address, size uint64) error
	// OpenFile makes a file of that size with nothing in it, and says how large it
	// is: less where the process may not have larger ones.
	OpenFile  func(size uint64) (fd int, sizeBytes uint64, err error)
	CloseFile func(fd int) error
	// CopyFile gives another descriptor of a file, which no program inherits.
	CopyFile func(fd int) (int, error)
	// SealedBytes is the size of a file of memory that can be read and written and that
	// nobody can make smaller; an error for any other descriptor.
	SealedBytes func(fd int) (uint64, error)
	// Punch gives a part of a file back to the system; it then reads as zeros.
	Punch func(file FilePart, size uint64) error
	// Overwrite makes what exists of a part of a file zeros, in place.
	Overwrite func(file FilePart, size uint64) error
	// FileBytes is how much memory a file has.
	FileBytes func(fd int) uint64
	// FileResident and privateResident are how much of a part of a file, or of a
	// private range, has memory.
	FileResident    func(file FilePart, size uint64) (uint64, error)
	PrivateResident func(address, size uint64) (uint64, error)
	// Mappings counts the mappings of this process.
	Mappings func() uint64
	// MakeMappings makes so many that nobody may touch, in a row of as many small
	// pages, which unmap gives back, in parts too.
	MakeMappings func(count uint64) (address, size uint64, err error)
	Unmap        func(address, size uint64) error
}

// FilePart is where a part of a file starts.
type FilePart struct {
	FD     int
	Offset uint64
}
