package device

// Page is a piece of physical memory of one device, under a number that is used
// for nothing else while the page is there; 0 is no page.
type Page uint64

// Backing is what physical memory can do.
type Backing int

const (
	// BackingMovable pages keep their bytes while they are not mapped, and can be
	// mapped anywhere in the reservations of their device.
	BackingMovable Backing = iota
	// BackingPrivate pages are for one owner who leaves them where they are: what
	// they hold is lost when they are unmapped, and they read as zeros when they
	// are mapped again. A device may give movable pages in their place; then they
	// still read as zeros.
	BackingPrivate
	// BackingShareable pages are movable ones that Exporter can give to other
	// processes. A device without that capability has none: CodeUnsupported.
	BackingShareable
	// BackingRDMA pages are movable ones that cards of other makers, such as those of a
	// network, read and write without the host. A device where Info().RDMAPages is false has
	// none: CodeUnsupported.
	BackingRDMA
	// BackingFabric pages are movable ones that FabricExporter can give to processes of other
	// hosts as well. A device without that capability has none: CodeUnsupported.
	BackingFabric
)

// Access is what may be done with mapped memory.
type Access int

const (
	// AccessNone is what a range has that has just been mapped.
	AccessNone Access = iota
	AccessRead
	AccessReadWrite
)

// Granularity is what the sizes of pages, and the sizes and offsets in
// reservations, are multiples of, and which sizes of pages suit the device. All are
// powers of two.
type Granularity struct {
	MinimumBytes uint64
	// RecommendedBytes is the page size that works best.
	RecommendedBytes uint64
	// LargeBytes is a size of pages for long ranges: a page of it costs as many calls of
	// the driver as one of any other size. 0: there is no such size.
	LargeBytes uint64
}

// VirtualMemory is the capability of address space that is apart from the memory
// behind it; Info().VirtualMemory says whether the open device has it, and
// without it every call is CodeUnsupported. All methods are safe for concurrent
// use.
//
// Pages are mapped whole and unmapped whole. Every call changes all that it
// names or, when it fails, nothing: then memory, books and access are as they
// were. A size is a multiple of MinimumBytes and not 0, and a list of pages is
// not empty, else CodeInvalidSize; an address in a reservation is a multiple of
// MinimumBytes, else CodeInvalidOffset; a range that is not within one
// reservation is CodeInvalidAddress. Pages that are there no more, were never
// there, or are named twice in one list are CodeInvalidHandle. Two calls at the
// same time that touch the same pages or the same part of a reservation: one of
// them may be CodeBusy.
//
// Queued work and HostVisible calls may use a range that spans several pages of
// one reservation. What is not mapped is CodeNotMapped to them, and what lacks
// the access CodePermissionDenied.
type VirtualMemory interface {
	// Granularity does not change while the device is open.
	Granularity() Granularity
	// Reserve takes address space with nothing behind it, which nobody may touch
	// until it is mapped. An align that is not a power of two of at least
	// MinimumBytes is CodeInvalidAlignment. No room is CodeOutOfVirtualMemory.
	Reserve(size, align uint64) (Addr, error)
	// Unreserve gives back exactly what one Reserve returned: CodeBusy while
	// something is mapped in it, CodeInvalidAddress for anything else.
	Unreserve(addr Addr, size uint64) error
	// Create fills pages with new ones of pageBytes each, which read as zeros. No
	// room is CodeOutOfMemory, also where only the system's promises are used up;
	// a pageBytes that is not a power of two of at least MinimumBytes is
	// CodeInvalidPageSize. When it fails, the list is as it was.
	Create(pages []Page, pageBytes uint64, backing Backing) error
	// Release gives pages back to the system: CodeBusy while one is mapped. When
	// it fails all of them are still there, but what they held may be lost.
	Release(pages []Page) error
	// Map puts pages, all of one size (else CodeInvalidPageSize), one after the
	// other behind the range that starts at addr, without access. The range
	// starts at an offset in its reservation that is a multiple of the pages'
	// size, else CodeInvalidOffset. Where something is mapped already it is
	// CodeAlreadyMapped; a page that is mapped elsewhere is CodeBusy. The
	// system's bound on mappings reached is CodeResourceExhausted.
	Map(addr Addr, pages []Page) error
	// SetAccess says what the device, and the host where it can address the
	// memory, may do with a range that is mapped throughout, else CodeNotMapped;
	// a range that starts or ends inside a page is CodeInvalidOffset. It is
	// CodeBusy where it takes access from a range that queued work is known to
	// use. The system's bound on mappings reached is CodeResourceExhausted: a
	// device may leave to this call what Map has only noted.
	SetAccess(addr Addr, size uint64, access Access) error
	// Unmap takes the pages out of a range that is mapped throughout, else
	// CodeNotMapped; a range that starts or ends inside a page is
	// CodeInvalidOffset. Work that still uses the range must have been waited
	// for: where the device knows of such work it is CodeBusy. The system's bound
	// on mappings reached is CodeResourceExhausted. Private pages of an Unmap that
	// fails are still mapped, but what they held may be lost: the system may have
	// taken some of it before it refused, also at a second try, to take the rest.
	Unmap(addr Addr, size uint64) error
	// Zero makes pages that are not mapped (else CodeBusy) read as zeros, and may
	// give their memory back to the system until they are touched again. When it
	// fails, some of them may have been made zeros.
	Zero(pages []Page) error
	// Resident is how many bytes of a range that is mapped throughout, else
	// CodeNotMapped, the system has really put memory behind, as the system
	// counts it.
	Resident(addr Addr, size uint64) (uint64, error)
}
