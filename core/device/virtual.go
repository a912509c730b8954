package device

// Page is the number of a piece of physical memory of one device. The number is not
// reused while the page exists; 0 is not a page.
type Page uint64

// Backing is the kind of physical memory.
type Backing int

const (
	// BackingMovable pages keep their bytes while they are not mapped. They can be
	// mapped anywhere in the reservations of their device.
	BackingMovable Backing = iota
	// BackingPrivate pages are for one owner that leaves them where they are. Their
	// contents are lost when they are unmapped, and they read as zeros when they are
	// mapped again. A device may use movable pages instead; then they still read as
	// zeros.
	BackingPrivate
	// BackingShareable pages are movable pages that Exporter can export to other
	// processes. A device without that capability returns CodeUnsupported.
	BackingShareable
	// BackingRDMA pages are movable pages that devices of other vendors, such as
	// network adapters, read and write without the host. A device without
	// Info().RDMAPages returns CodeUnsupported.
	BackingRDMA
	// BackingFabric pages are movable pages that FabricExporter can export to processes
	// on other hosts. A device without that capability returns CodeUnsupported.
	BackingFabric
)

// Access is the permitted use of mapped memory.
type Access int

const (
	// AccessNone is the access of a range after Map.
	AccessNone Access = iota
	AccessRead
	AccessReadWrite
)

// Granularity has the unit of page sizes and of sizes and offsets in reservations, and
// the page sizes that suit the device. All values are powers of two.
type Granularity struct {
	MinimumBytes uint64
	// RecommendedBytes is the page size that works best.
	RecommendedBytes uint64
	// LargeBytes is a page size for long ranges: such a page needs as many driver calls
	// as a page of any other size. 0: there is no such size.
	LargeBytes uint64
}

// UnfilledCreator is the capability to create pages without filling them, on a device where
// zeros take time. It is for an owner that writes to a page before it reads it.
type UnfilledCreator interface {
	// CreateUnfilled is VirtualMemory.Create, except that the contents of the pages are
	// undefined. The contents of private pages are undefined again after each Map.
	// VirtualMemory.Zero fills a page with zeros and makes no promise for later Maps.
	CreateUnfilled(pages []Page, pageBytes uint64, backing Backing) error
}

// ContentKeeper is the capability to keep the contents of pages that are unmapped in the
// address space itself. It is for a device whose memory is memory of the process: a copy
// elsewhere would need as much of it. Kept contents have no page, and the device does not
// count them. They end with their reservation. All rules of VirtualMemory hold.
type ContentKeeper interface {
	// KeepsContents reports whether pages of a backing can be unmapped in this way.
	KeepsContents(backing Backing) bool
	// UnmapKeeping is Unmap, except that the contents are kept under a mark, which is not
	// 0. If it fails, the pages are still mapped and have their contents. It returns
	// CodeUnsupported for a page of a backing that is not kept.
	UnmapKeeping(addr Addr, size uint64, mark uint32) error
	// MapKept is Map, except that the pages have the contents that are kept there under
	// the mark, otherwise CodeNotFound. VirtualMemory.Map drops kept contents.
	MapKept(addr Addr, pages []Page, mark uint32) error
	// DropKept releases the memory of what is kept in a range under the mark, which may be
	// nothing. What it fails to release stays kept.
	DropKept(addr Addr, size uint64, mark uint32) error
}

// VirtualMemory is the capability of address space that is separate from its physical
// memory. Info().VirtualMemory states whether the open device has it. Without it every
// call returns CodeUnsupported. All methods are safe for concurrent use.
//
// Pages are mapped and unmapped as a whole. Every call changes everything that it names
// or, when it fails, nothing: memory, counters and access are as before. These rules
// hold for all calls:
//
//   - a size is a multiple of MinimumBytes and not 0, and a list of pages is not empty,
//     otherwise CodeInvalidSize;
//   - an address in a reservation is a multiple of MinimumBytes, otherwise
//     CodeInvalidOffset;
//   - a range lies within one reservation, otherwise CodeInvalidAddress;
//   - a list names existing pages, each once, otherwise CodeInvalidHandle;
//   - of two concurrent calls on the same pages or the same part of a reservation, one
//     may return CodeBusy.
//
// Queued work and HostVisible calls may use a range that spans several pages of one
// reservation. They return CodeNotMapped for an unmapped part, and CodePermissionDenied
// for a part without the access.
type VirtualMemory interface {
	// Granularity does not change while the device is open.
	Granularity() Granularity
	// Reserve reserves address space without memory. It must not be accessed until it
	// is mapped. Errors: CodeInvalidAlignment for an align that is not a power of two
	// of at least MinimumBytes, CodeOutOfVirtualMemory if there is not enough address
	// space.
	Reserve(size, align uint64) (Addr, error)
	// Unreserve releases exactly what one Reserve returned. It returns CodeBusy while a
	// page is mapped in it, and CodeInvalidAddress for anything else.
	Unreserve(addr Addr, size uint64) error
	// Create fills pages with new pages of pageBytes each, which read as zeros. Errors:
	// CodeOutOfMemory if there is not enough memory, or if the system's commit limit is
	// reached; CodeInvalidPageSize for a pageBytes that is not a power of two of at
	// least MinimumBytes. If it fails, the list does not change.
	Create(pages []Page, pageBytes uint64, backing Backing) error
	// Release releases pages to the system. It returns CodeBusy while one is mapped. If
	// it fails, all pages still exist, but their contents may be lost.
	Release(pages []Page) error
	// Map maps pages of one size (otherwise CodeInvalidPageSize), one after the other,
	// from addr on, without access. The offset of addr in its reservation is a multiple
	// of the page size, otherwise CodeInvalidOffset. Errors: CodeAlreadyMapped if a
	// page is already mapped in the range, CodeBusy for a page that is mapped
	// elsewhere, CodeResourceExhausted at the system's limit on mappings.
	Map(addr Addr, pages []Page) error
	// SetAccess sets the access of the device, and of the host if it can address the
	// memory, to a range that is fully mapped (otherwise CodeNotMapped). Errors:
	// CodeInvalidOffset for a range that starts or ends inside a page; CodeBusy if it
	// removes access from a range that queued work is known to use;
	// CodeResourceExhausted at the system's limit on mappings, because a device may
	// delay the work of Map until this call.
	SetAccess(addr Addr, size uint64, access Access) error
	// Unmap unmaps the pages of a range that is fully mapped (otherwise CodeNotMapped).
	// The caller must have waited for work that uses the range; a device that knows of
	// such work returns CodeBusy. Errors: CodeInvalidOffset for a range that starts or
	// ends inside a page, CodeResourceExhausted at the system's limit on mappings.
	// Private pages are still mapped after a failed Unmap, but their contents may be
	// lost: the system may have discarded a part of them before it failed, also during
	// a second attempt.
	Unmap(addr Addr, size uint64) error
	// Zero makes pages that are not mapped (otherwise CodeBusy) read as zeros. It may
	// return their memory to the system until their next use. If it fails, some of them
	// may be zeroed.
	Zero(pages []Page) error
	// Resident returns how many bytes of a range that is fully mapped (otherwise
	// CodeNotMapped) have physical memory, as the system counts it.
	Resident(addr Addr, size uint64) (uint64, error)
}
