package device

// PeerGranter is the capability of opening memory to another device. All methods are
// safe for concurrent use.
type PeerGranter interface {
	// GrantPeer lets work of another device of the same backend, also work that is not
	// queued through this library, use this one's memory: what is allocated, and what
	// is mapped now and later with the access that this device has. It holds until one
	// of the two is closed. Twice is as once. A device that does not reach this one's
	// memory is CodeUnsupported, this one itself CodeInvalidArgument.
	GrantPeer(peer Device) error
}

// Exporter is the capability of pages that another process can map;
// Info().Exporter says whether the open device has it. All methods are safe for
// concurrent use. The memory goes back to the system when every process has released
// its page and closed its descriptors.
type Exporter interface {
	// ExportPage gives a file descriptor of a page, which the caller closes and may send
	// to another process; it is not inherited by programs that this one starts. A page
	// that was not created as BackingShareable, and was not imported, is
	// CodeInvalidArgument, one that is not there CodeInvalidHandle.
	ExportPage(page Page) (fd int, err error)
	// ImportPage makes a page of memory that a process exported, this one included. The
	// descriptor stays the caller's. One that is closed, or of something else, is
	// CodeInvalidArgument, and so is memory of another device; a size that is not the
	// page's is CodeInvalidPageSize. The page is used and released as any other; Zero
	// makes zeros for everyone who has the memory.
	ImportPage(fd int, pageBytes uint64) (Page, error)
}

// FabricHandleBytes is the size of a FabricHandle.
const FabricHandleBytes = 64

// FabricHandle names a page in every process of the hosts that a fabric of the vendor's
// connects (NVLink between hosts). It is bytes that can be sent in any way.
type FabricHandle [FabricHandleBytes]byte

// FabricExporter is the capability of pages that processes of other hosts can map;
// Info().FabricExporter says whether the open device has it. All methods are safe for
// concurrent use. The memory goes back to the system when every process has released
// its page: a handle keeps nothing.
type FabricExporter interface {
	// ExportFabricPage gives the handle of a page. A page that was not created as
	// BackingFabric, and was not imported by a handle, is CodeInvalidArgument, one that is
	// not there CodeInvalidHandle.
	ExportFabricPage(page Page) (FabricHandle, error)
	// ImportFabricPage makes a page of memory that a process exported, this one included.
	// A handle that names nothing, or memory that is gone, is CodeInvalidArgument, one of
	// hosts that this process may not reach CodePermissionDenied or CodeInvalidArgument; a
	// size that is not the page's is CodeInvalidPageSize. The page is used and released as
	// any other; Zero makes zeros for everyone who has the memory.
	ImportFabricPage(handle FabricHandle, pageBytes uint64) (Page, error)
}

// ProcessHandleBytes is the size of a ProcessHandle.
const ProcessHandleBytes = 64

// ProcessHandle names memory or an event of one process in another. It is bytes that
// can be sent in any way, and means nothing to the process that it comes from.
type ProcessHandle [ProcessHandleBytes]byte

// SharedMemory is a range of one process's memory as another opens it.
type SharedMemory struct {
	Handle ProcessHandle
	// OffsetBytes is where the range begins in what the handle names.
	OffsetBytes uint64
	SizeBytes   uint64
}

// ProcessSharer is the capability of using memory and events of another process;
// Info().ProcessSharer says whether the open device has it. All methods are safe for
// concurrent use.
type ProcessSharer interface {
	// ShareMemory describes a range of one segment. The segment stays allocated while
	// others have it open. A range that is in no segment is CodeInvalidAddress, a size
	// of 0 CodeInvalidSize.
	ShareMemory(addr Addr, size uint64) (SharedMemory, error)
	// OpenShared makes a range of another process usable, until CloseShared. A handle
	// that names nothing, or memory that is gone, is CodeInvalidArgument; one of this
	// process CodeInvalidState; a range that reaches beyond the memory
	// CodeInvalidSize; one that overlaps what is open already CodeAlreadyExists.
	OpenShared(m SharedMemory) (Addr, error)
	// CloseShared ends what one OpenShared began: CodeInvalidAddress for anything else.
	// Work that uses the range must have been waited for.
	CloseShared(addr Addr, size uint64) error
	// ShareEvent marks the present end of a stream's queue for other processes. The
	// event stays open until they have opened it.
	ShareEvent(stream Stream) (Event, ProcessHandle, error)
	// OpenSharedEvent gives an event of another process; errors are as for OpenShared.
	OpenSharedEvent(handle ProcessHandle) (Event, error)
}

// Finder is a Driver whose devices have names beside their number.
type Finder interface {
	// Find gives the index of the device with a name; CodeDeviceNotFound for none.
	Find(name string) (int, error)
}

// ContextOpener is a Driver that opens a device on a context of the vendor's runtime
// that the program made, and keeps until the device is closed.
type ContextOpener interface {
	// OpenContext opens the device with an index on a context of it. 0 is
	// CodeNullPointer, a context of another device CodeInvalidArgument. A number that is
	// no context may end the process in the vendor's library.
	OpenContext(index int, native uint64) (Device, error)
}

// Native is the capability of devices, streams and events that stand for an object of
// the vendor's runtime.
type Native interface {
	// NativeHandle is that object, as a number: of a device its context. It stays the
	// library's, and is gone when what it was asked of is closed.
	NativeHandle() (uint64, error)
}
