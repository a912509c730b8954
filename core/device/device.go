package device

import "time"

// Addr is an address in a device's memory. 0 is not an address.
type Addr uint64

// HostAddr is an address in the memory of this process, as a number.
type HostAddr uint64

// Forever is a timeout without end.
const Forever time.Duration = -1

// Driver finds and opens the devices of one backend. Drivers are safe for
// concurrent use.
type Driver interface {
	// Backend returns the name before the colon of a device id.
	Backend() string
	// Probe returns an error if the backend cannot be used here
	// (CodeBackendUnavailable), and nil otherwise.
	Probe() error
	// Devices describes every device, in order of ordinal. It does not open them.
	Devices() ([]Info, error)
	// Open opens a device. It returns CodeDeviceNotFound for an index without a device.
	// Each call returns a separate Device.
	Open(index int) (Device, error)
}

// Info describes a device. It does not change while the device is open.
type Info struct {
	ID   ID
	Name string
	// TotalBytes is the capacity; 0 means unknown.
	TotalBytes uint64
	// GranularityBytes is the unit of the sizes that Alloc accepts.
	GranularityBytes uint64
	// AlignmentBytes is the alignment of every address from Alloc.
	AlignmentBytes uint64
	// HostAddressable states that an Addr of this device is also a HostAddr.
	HostAddressable bool
	// Each of these states that the open device has the capability of that name;
	// Capture states that its streams are Capturers.
	Peer          bool
	HostVisible   bool
	VirtualMemory bool
	PinnedHost    bool
	Linker        bool
	Exporter      bool
	ProcessSharer bool
	Compiler      bool
	Capture       bool
	Managed       bool
	Registrar     bool
	StreamOrdered bool
	// RDMAPages states that pages can have BackingRDMA.
	RDMAPages bool
	// FabricExporter states that the open device has that capability.
	FabricExporter bool
}

// MemoryReading has the numbers that the device reports. They include the use by other
// processes.
type MemoryReading struct {
	// TotalBytes is the capacity; 0 means unknown.
	TotalBytes uint64
	// FreeBytes is the number of bytes that Alloc could still allocate. If both fields
	// are 0, nothing is known.
	FreeBytes uint64
}

// Device is an open device. All methods are safe for concurrent use. After Close every
// call except Info fails with CodeInvalidState.
type Device interface {
	Info() Info
	// Alloc allocates a segment. size is a multiple of Info().GranularityBytes and not
	// 0. It returns CodeOutOfMemory if there is not enough memory.
	Alloc(size uint64) (Addr, error)
	// Free releases exactly what one Alloc returned. The caller must have waited for
	// work that uses the segment. If Free fails, the segment does not change.
	Free(addr Addr, size uint64) error
	// Memory queries the device for its present numbers.
	Memory() (MemoryReading, error)
	// DefaultStream returns the stream that exists from the start. It cannot be closed
	// alone.
	DefaultStream() Stream
	NewStream() (Stream, error)
	// Synchronize waits until every stream is drained. It returns CodeTimeout if that
	// takes longer than timeout (Forever: no limit).
	Synchronize(timeout time.Duration) error
	// Close closes the streams and releases all resources to the system. It returns
	// CodeBusy, and changes nothing, while segments, streams, pages or reservations
	// exist.
	Close() error
}

// Pattern is a value that Fill writes repeatedly. The size and the address of a fill
// are multiples of WidthBytes.
type Pattern struct {
	// Value holds the pattern in its low WidthBytes bytes.
	Value uint64
	// WidthBytes is 1, 2, 4 or 8.
	WidthBytes int
}

// Move is a copy within one device.
type Move struct {
	Dst, Src Addr
	// SizeBytes is not 0.
	SizeBytes uint64
}

// MaxQueued bounds the work of one stream that waits in memory of this process. It
// bounds the memory that a driver uses for a caller that never waits. Above it a
// queueing call returns CodeResourceExhausted.
const MaxQueued = 1 << 20

// Stream is an ordered queue of work on one device. The queueing calls return before
// the work has run. The next Synchronize of the stream returns a failure of queued
// work.
type Stream interface {
	// Copy copies size bytes within the device. Overlapping ranges are copied as with
	// memmove.
	Copy(dst, src Addr, size uint64) error
	// CopyBatch queues copies within the device, in any order. It checks every range
	// before it queues the first copy; an error names the first wrong copy by its
	// index. If the driver rejects a copy later, the error states that the copies
	// before it are queued. The caller ensures that no destination overlaps the source
	// or the destination of another copy.
	CopyBatch(copies []Move) error
	// CopyFromHost and CopyToHost copy bytes between the process's memory and the
	// device's memory. The host range must stay valid until the copy has run.
	CopyFromHost(dst Addr, src HostAddr, size uint64) error
	CopyToHost(dst HostAddr, src Addr, size uint64) error
	// Fill writes the pattern over size bytes.
	Fill(dst Addr, pattern Pattern, size uint64) error
	// HostFunction runs fn on a thread of the driver, in the order of the stream. fn
	// must not wait for this stream.
	HostFunction(fn func()) error
	// RecordEvent records an event at the present end of the queue.
	RecordEvent() (Event, error)
	// WaitEvent makes later work of this stream wait for the event. The event may be of
	// another stream or of another device of the same backend.
	WaitEvent(event Event) error
	// Idle reports, without waiting, whether all queued work has completed.
	Idle() (bool, error)
	// Synchronize waits until all work queued so far has completed. It returns
	// CodeTimeout if that takes longer than timeout (Forever: no limit). Otherwise it
	// returns the first failure of queued work since the last call.
	Synchronize(timeout time.Duration) error
	// Close drains the queue and destroys the stream.
	Close() error
}

// Event is a point in a stream's queue.
type Event interface {
	// Done reports, without waiting, whether the event has completed.
	Done() (bool, error)
	// Synchronize waits until the event has completed. It returns CodeTimeout if that
	// takes longer than timeout (Forever: no limit).
	Synchronize(timeout time.Duration) error
	// PassedAt returns the time of completion, on the clock of the event's device. Only
	// differences between events of one device have a meaning. It returns
	// CodeInvalidState before completion, and CodeUnsupported for a device without such
	// a clock; Elapsed works for those devices as well.
	PassedAt() (time.Duration, error)
	// Close destroys the event. Streams that wait for it still wait.
	Close() error
}

// Peer is the capability to copy from another device of the same backend, without a
// copy in host memory.
type Peer interface {
	// CanCopyFrom reports whether CopyFromPeer works for that device.
	CanCopyFrom(src Device) bool
	// CopyFromPeer queues on stream, a stream of this device, a copy of size bytes from
	// srcAddr of src to dst on this device.
	CopyFromPeer(stream Stream, dst Addr, src Device, srcAddr Addr, size uint64) error
}

// HostVisible is the capability to fill and to compare memory from this process. The
// calls complete before they return, and are in the order of no stream. The process
// does not need to address the memory: a device may do the work for it. The caller
// ensures that no queued work writes to the range during the call. A range that does
// not lie in one segment or reservation returns CodeInvalidAddress, a size of 0
// CodeInvalidSize.
type HostVisible interface {
	// FillNow writes value to size bytes.
	FillNow(addr Addr, value byte, size uint64) error
	// FirstOther finds the first of size bytes that differs from value; false: none
	// does.
	FirstOther(addr Addr, value byte, size uint64) (Difference, bool, error)
}

// Difference is a byte that differs from the expected value.
type Difference struct {
	// OffsetBytes counts from the start of the compared range.
	OffsetBytes uint64
	Found       byte
}
