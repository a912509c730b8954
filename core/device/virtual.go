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
// reservations, are multiples of. Both are powers of two.
type Granularity struct {
	MinimumBytes uint64
	// RecommendedBytes is the page size that works best.
	RecommendedBytes uint64
}

// VirtualMemory is the capability of address space that is apart from the memory
// behind it. Pages are mapped whole and unmapped whole. Every call changes all
// that it names or, when it fails, nothing: then memory, books and access are as
// they were. The ranges and sizes given are not 0 and multiples of the
// granularity; other ones are CodeInvalidSize or CodeInvalidOffset.
type VirtualMemory interface {
	Granularity() Granularity
	// Reserve takes address space with nothing behind it, which nobody may touch
	// until it is mapped. align is a power of two of at least MinimumBytes. No
	// room is CodeOutOfVirtualMemory.
	Reserve(size, align uint64) (Addr, error)
	// Unreserve gives back exactly what one Reserve returned: CodeBusy while
	// something is mapped in it, CodeInvalidAddress for anything else.
	Unreserve(addr Addr, size uint64) error
	// Create fills pages with new ones of pageBytes each, which read as zeros. No
	// room is CodeOutOfMemory, also where only the system's promises are used up;
	// a pageBytes that is not a power of two of at least MinimumBytes is
	// CodeInvalidPageSize.
	Create(pages []Page, pageBytes uint64, backing Backing) error
	// Release gives pages back to the system: CodeBusy while one is mapped,
	// CodeInvalidHandle for one that is not there.
	Release(pages []Page) error
	// Map puts pages, all of one size, one after the other behind the range that
	// starts at addr, without access. Where something is mapped already it is
	// CodeAlreadyMapped; outside one reservation CodeInvalidAddress; a page that
	// is mapped elsewhere is CodeBusy. The system's bound on mappings reached is
	// CodeResourceExhausted.
	Map(addr Addr, pages []Page) error
	// SetAccess says what the device, and the host where it can address the
	// memory, may do with a range that is mapped throughout; else CodeNotMapped.
	SetAccess(addr Addr, size uint64, access Access) error
	// Unmap takes the pages out of a range that is mapped throughout, else
	// CodeNotMapped; a range that ends inside a page is CodeInvalidOffset. Work
	// that still uses the range must have been waited for: where the device knows
	// of such work it is CodeBusy.
	Unmap(addr Addr, size uint64) error
	// Zero makes pages that are not mapped read as zeros, and may give their
	// memory back to the system until they are touched again.
	Zero(pages []Page) error
	// Resident is how many bytes of a mapped range the system has really put
	// memory behind, as the system counts it.
	Resident(addr Addr, size uint64) (uint64, error)
}
