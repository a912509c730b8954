package host

import "ferrum_mem/core/device"

// virtualMapper is what virtual memory needs from the system. Every call does
// all or nothing, but protect, which may stop half-way.
type virtualMapper struct {
	// reserve maps address space that nobody may touch.
	reserve func(size uint64) (address uint64, err error)
	// clear puts such address space in place of whatever is in a range.
	clear func(address, size uint64) error
	// protect says what may be done with private memory.
	protect func(address, size uint64, access device.Access) error
	// forget gives the memory of a private range back to the system.
	forget func(address, size uint64) error
	// touch brings a small page of a writable private range into being.
	touch func(address uint64)
	// loosen takes the memory of a file out of the page tables of a range, where it
	// comes back at the next touch, without holding up who maps elsewhere. It may do
	// nothing.
	loosen func(address, size uint64)
	// mapFile puts a part of a file in place of whatever is in a range.
	mapFile func(address, size uint64, file filePart, access device.Access) error
	// keepFromChildren leaves a range out of the memory of processes forked off.
	keepFromChildren func(address, size uint64) error
	// openFile makes a file of that size with nothing in it, and says how large it
	// is: less where the process may not have larger ones.
	openFile  func(size uint64) (fd int, sizeBytes uint64, err error)
	closeFile func(fd int) error
	// copyFile gives another descriptor of a file, which no program inherits.
	copyFile func(fd int) (int, error)
	// sealedBytes is the size of a file of memory that can be read and written and that
	// nobody can make smaller; an error for any other descriptor.
	sealedBytes func(fd int) (uint64, error)
	// punch gives a part of a file back to the system; it then reads as zeros.
	punch func(file filePart, size uint64) error
	// overwrite makes what exists of a part of a file zeros, in place.
	overwrite func(file filePart, size uint64) error
	// fileBytes is how much memory a file has.
	fileBytes func(fd int) uint64
	// fileResident and privateResident are how much of a part of a file, or of a
	// private range, has memory.
	fileResident    func(file filePart, size uint64) (uint64, error)
	privateResident func(address, size uint64) (uint64, error)
	// mappings counts the mappings of this process.
	mappings func() uint64
	// makeMappings makes so many that nobody may touch, in a row of as many small
	// pages, which unmap gives back, in parts too.
	makeMappings func(count uint64) (address, size uint64, err error)
	unmap        func(address, size uint64) error
}

// filePart is where a part of a file starts.
type filePart struct {
	fd     int
	offset uint64
}
