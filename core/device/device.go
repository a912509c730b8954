package device

import "time"

// Addr is an address in a device's memory. 0 is no address.
type Addr uint64

// HostAddr is an address in the memory of this process, as a number.
type HostAddr uint64

// Forever is the timeout that waits without an end.
const Forever time.Duration = -1

// Driver finds and opens the devices of one backend. Drivers are safe for
// concurrent use.
type Driver interface {
	// Backend is the name before the colon of a device id.
	Backend() string
	// Probe says why the backend cannot be used here (CodeBackendUnavailable),
	// or nil.
	Probe() error
	// Devices describes every device, in order of ordinal. It opens none.
	Devices() ([]Info, error)
	// Open makes a device usable. An index that is not there is
	// CodeDeviceNotFound. Each call gives a Device of its own.
	Open(index int) (Device, error)
}

// Info describes a device. It does not change while the device is open.
type Info struct {
	ID   ID
	Name string
	// TotalBytes is the capacity; 0 means unknown.
	TotalBytes uint64
	// GranularityBytes is what sizes given to Alloc are multiples of.
	GranularityBytes uint64
	// AlignmentBytes is what every address from Alloc is a multiple of.
	AlignmentBytes uint64
	// HostAddressable says that an Addr of this device is also a HostAddr.
	HostAddressable bool
	// Each of these says that the open device has the capability of that name, and
	// Capture that its streams are Capturers.
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
	// RDMAPages says that pages can have BackingRDMA.
	RDMAPages bool
	// FabricExporter says that the open device has that capability.
	FabricExporter bool
}

// MemoryReading is what the device itself reports, everybody's use included.
type MemoryReading struct {
	// TotalBytes is the capacity; 0 means unknown.
	TotalBytes uint64
	// FreeBytes is what could still be had from Alloc. Where both are 0 nothing is known.
	FreeBytes uint64
}

// Device is an open device. All methods are safe for concurrent use. After
// Close every call but Info fails with CodeInvalidState.
type Device interface {
	Info() Info
	// Alloc takes a segment from the driver. size is a multiple of
	// Info().GranularityBytes and not 0. No room is CodeOutOfMemory.
	Alloc(size uint64) (Addr, error)
	// Free gives back exactly what one Alloc returned. Work that still uses
	// the segment must have been waited for. When it fails, the segment is as
	// it was.
	Free(addr Addr, size uint64) error
	// Memory asks the device for its present reading.
	Memory() (MemoryReading, error)
	// DefaultStream is the stream that is there from the start; it cannot be
	// closed by itself.
	DefaultStream() Stream
	NewStream() (Stream, error)
	// Synchronize waits until every stream has run dry: CodeTimeout if that
	// takes longer than timeout (Forever: no limit).
	Synchronize(timeout time.Duration) error
	// Close stops the streams and gives everything back to the system. It is
	// CodeBusy, and changes nothing, while segments, streams, pages or
	// reservations are left.
	Close() error
}

// Pattern is what Fill writes over and over. The size filled is a multiple of
// WidthBytes, and so is the address.
type Pattern struct {
	// Value holds the pattern in its low WidthBytes bytes.
	Value uint32
	// WidthBytes is 1, 2 or 4.
	WidthBytes int
}

// Move is a copy within one device.
type Move struct {
	Dst, Src Addr
	// SizeBytes is not 0.
	SizeBytes uint64
}

// MaxQueued bounds what of one stream waits in memory of this process, and so the memory
// that a caller who never waits can make a driver use. Beyond it a queueing call is
// CodeResourceExhausted.
const MaxQueued = 1 << 20

// Stream is an ordered queue of work on one device. The queueing calls return
// before the work is done, in whatever state the memory is then. A failure of
// queued work is returned by the next Synchronize of that stream.
type Stream interface {
	// Copy moves size bytes within the device, with the meaning of memmove
	// when the ranges overlap.
	Copy(dst, src Addr, size uint64) error
	// CopyBatch queues copies within the device, in an order of its own. Every range is
	// checked before the first copy is queued, and an error names the first copy that was
	// wrong by its index. When the driver refuses a copy later, the error says that those
	// before it are queued. The caller has seen to it that no destination overlaps the
	// source or the destination of another copy.
	CopyBatch(copies []Move) error
	// CopyFromHost and CopyToHost move bytes between the process's memory and
	// the device's; the host range must stay valid until the copy has run.
	CopyFromHost(dst Addr, src HostAddr, size uint64) error
	CopyToHost(dst HostAddr, src Addr, size uint64) error
	// Fill writes the pattern over size bytes.
	Fill(dst Addr, pattern Pattern, size uint64) error
	// HostFunction runs fn on a thread of the driver, in the stream's order.
	// fn may not wait for this stream.
	HostFunction(fn func()) error
	// RecordEvent marks the present end of the queue.
	RecordEvent() (Event, error)
	// WaitEvent makes later work of this stream wait for the event, which may
	// be another stream's or another device's of the same backend.
	WaitEvent(event Event) error
	// Idle reports without waiting whether all queued work is done.
	Idle() (bool, error)
	// Synchronize waits until all work queued so far is done, at most timeout
	// (Forever: no limit; then CodeTimeout), and returns the first failure of
	// queued work since the last time it was asked.
	Synchronize(timeout time.Duration) error
	// Close runs the queue dry and stops the stream.
	Close() error
}

// Event is a point in a stream's queue.
type Event interface {
	// Done reports without waiting whether the point has been passed.
	Done() (bool, error)
	// Synchronize waits until the point has been passed: CodeTimeout if that
	// takes longer than timeout (Forever: no limit).
	Synchronize(timeout time.Duration) error
	// PassedAt is the time at which the point was passed, on the clock of the
	// event's device; differences between events of one device mean something.
	// Not passed yet is CodeInvalidState. A device without such a clock is
	// CodeUnsupported; Elapsed is for those as well.
	PassedAt() (time.Duration, error)
	// Close forgets the event; streams that wait for it still do.
	Close() error
}

// Peer is the capability of copying from another device of the same backend
// without passing through host memory.
type Peer interface {
	// CanCopyFrom says whether CopyFromPeer works for that device.
	CanCopyFrom(src Device) bool
	// CopyFromPeer queues on stream, a stream of this device, a copy of size
	// bytes at srcAddr of src to dst on this device.
	CopyFromPeer(stream Stream, dst Addr, src Device, srcAddr Addr, size uint64) error
}

// HostVisible is the capability of memory that this process fills and looks through
// itself: before the call returns, in the order of no stream. It need not address that
// memory: a device may fill it and look through it for the process. The caller knows
// that no queued work writes to the range meanwhile. A range that lies in no one segment
// or reservation is CodeInvalidAddress, a size of 0 CodeInvalidSize.
type HostVisible interface {
	// FillNow writes the value over size bytes.
	FillNow(addr Addr, value byte, size uint64) error
	// FirstOther finds the first of size bytes that is not the value; false: all
	// of them are.
	FirstOther(addr Addr, value byte, size uint64) (Difference, bool, error)
}

// Difference is a byte that is not what it was expected to be.
type Difference struct {
	// OffsetBytes counts from the start of the range that was looked at.
	OffsetBytes uint64
	Found       byte
}
