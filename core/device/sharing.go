package device

// PeerGranter is the capability to open memory to another device. All methods are safe
// for concurrent use.
type PeerGranter interface {
	// GrantPeer lets work of another device of the same backend use this device's
	// memory, including work that is not queued through this library. It covers
	// allocated memory, and memory that is mapped now and later, with the access that
	// this device has. It holds until one of the two devices is closed. A second call
	// has no further effect. Errors: CodeUnsupported for a device that cannot reach
	// this device's memory, CodeInvalidArgument for this device itself.
	GrantPeer(peer Device) error
}

// Exporter is the capability of pages that another process can map. Info().Exporter
// states whether the open device has it. All methods are safe for concurrent use. The
// memory returns to the system when every process has released its page and closed its
// descriptors. Only the process that created a page exports it: drivers reject the export of
// an imported page (CUDA driver 580).
type Exporter interface {
	// ExportPage returns a file descriptor of a page. The caller closes it and may send
	// it to another process. Programs that this process starts do not inherit it.
	// Errors: CodeInvalidArgument for a page that was not created as BackingShareable or
	// was imported, CodeInvalidHandle for one that does not exist.
	ExportPage(page Page) (fd int, err error)
	// ImportPage creates a page for memory that a process exported; it may be this
	// process. The caller keeps the descriptor. Errors: CodeInvalidArgument for a
	// descriptor that is closed, is no page, or is of another device;
	// CodeInvalidPageSize for a size that is not the page's. The page is used and
	// released like any other. Zero zeros the memory for every process that has it.
	ImportPage(fd int, pageBytes uint64) (Page, error)
}

// FabricHandleBytes is the size of a FabricHandle.
const FabricHandleBytes = 64

// FabricHandle names a page in every process on the hosts that a fabric of the vendor
// connects (NVLink between hosts). It is plain bytes that can be sent in any way.
type FabricHandle [FabricHandleBytes]byte

// FabricExporter is the capability of pages that processes on other hosts can map.
// Info().FabricExporter states whether the open device has it. All methods are safe for
// concurrent use. The memory returns to the system when every process has released its
// page. A handle does not keep the memory. Only the process that created a page exports it.
type FabricExporter interface {
	// ExportFabricPage returns the handle of a page. Errors: CodeInvalidArgument for a
	// page that was not created as BackingFabric or was imported, CodeInvalidHandle for
	// one that does not exist.
	ExportFabricPage(page Page) (FabricHandle, error)
	// ImportFabricPage creates a page for memory that a process exported; it may be
	// this process. Errors: CodeInvalidArgument for a handle of nothing or of released
	// memory; CodePermissionDenied or CodeInvalidArgument for one of hosts that this
	// process cannot reach; CodeInvalidPageSize for a size that is not the page's. The
	// page is used and released like any other. Zero zeros the memory for every process
	// that has it.
	ImportFabricPage(handle FabricHandle, pageBytes uint64) (Page, error)
}

// ProcessHandleBytes is the size of a ProcessHandle.
const ProcessHandleBytes = 64

// ProcessHandle names memory or an event of one process in another process. It is plain
// bytes that can be sent in any way. The process that created it cannot open it.
type ProcessHandle [ProcessHandleBytes]byte

// SharedMemory describes a range of one process's memory, for another process to open.
type SharedMemory struct {
	Handle ProcessHandle
	// OffsetBytes is the offset of the range in the memory that the handle names.
	OffsetBytes uint64
	SizeBytes   uint64
}

// ProcessSharer is the capability to use memory and events of another process.
// Info().ProcessSharer states whether the open device has it. All methods are safe for
// concurrent use.
type ProcessSharer interface {
	// ShareMemory describes a range of one segment. The segment must stay allocated
	// while other processes have it open. Errors: CodeInvalidAddress for a range that
	// is in no segment, CodeInvalidSize for a size of 0.
	ShareMemory(addr Addr, size uint64) (SharedMemory, error)
	// OpenShared makes a range of another process usable, until CloseShared. Errors:
	// CodeInvalidArgument for a handle of nothing or of freed memory, CodeInvalidState
	// for a handle of this process, CodeInvalidSize for a range that reaches beyond the
	// memory, CodeAlreadyExists for one that overlaps an open range.
	OpenShared(m SharedMemory) (Addr, error)
	// CloseShared ends one OpenShared. It returns CodeInvalidAddress for anything else.
	// The caller must have waited for work that uses the range.
	CloseShared(addr Addr, size uint64) error
	// ShareEvent records an event at the present end of a stream's queue, for other
	// processes. The event must stay open until they have opened it.
	ShareEvent(stream Stream) (Event, ProcessHandle, error)
	// OpenSharedEvent opens an event of another process. Errors: as for OpenShared.
	OpenSharedEvent(handle ProcessHandle) (Event, error)
}

// Finder is a Driver whose devices have names as well as numbers.
type Finder interface {
	// Find returns the index of the device with a name, or CodeDeviceNotFound.
	Find(name string) (int, error)
}

// ContextOpener is a Driver that opens a device on a context of the vendor's runtime.
// The program created the context and keeps it until the device is closed.
type ContextOpener interface {
	// OpenContext opens the device with an index on one of its contexts. Errors:
	// CodeNullPointer for 0, CodeInvalidArgument for a context of another device. A
	// number that is not a context may crash the vendor's library and the process.
	OpenContext(index int, native uint64) (Device, error)
}

// Native is the capability of devices, streams and events that represent an object of
// the vendor's runtime.
type Native interface {
	// NativeHandle returns that object as a number; for a device it is the context. The
	// library owns the object, which exists until the device, stream or event is
	// closed.
	NativeHandle() (uint64, error)
}

// ContextRunner is the capability of streams to let other code use the vendor's runtime in the calling
// thread, such as a library that queues its work on the stream's native handle.
type ContextRunner interface {
	// InContext calls work while the context of the stream's device is the current one of the thread, and
	// then restores the thread. Calls of this library are allowed in work. The caller keeps the stream open
	// until it returns. Errors: those of work; CodeUnsupported for a device on a context of the program,
	// because other code finds only the primary one; CodeInvalidState for a closed stream.
	InContext(work func() error) error
}
