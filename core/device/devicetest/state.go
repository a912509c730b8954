package devicetest

import (
	"sync"
	"time"

	"ferrum_mem/core/device"
)

// Config describes the devices of a test driver.
type Config struct {
	// Backend is the backend's name; "" is "test".
	Backend string
	// Devices is the number of devices; 0 means 1.
	Devices int
	// TotalBytes is the capacity of each device; 0 is reported as unknown and sets no
	// bound.
	TotalBytes uint64
	// GranularityBytes and AlignmentBytes are 4096 if 0.
	GranularityBytes uint64
	AlignmentBytes   uint64
	// Backed gives segments real bytes, so that Device.Bytes shows the results of
	// copies and fills. It also makes the devices host-visible.
	Backed bool
	// NoVirtualMemory removes the capability of virtual memory.
	NoVirtualMemory bool
	// PageMinimumBytes and PageRecommendedBytes are the granularity of virtual memory.
	// 0 means 64 KiB and 2 MiB.
	PageMinimumBytes     uint64
	PageRecommendedBytes uint64
	// PageLargeBytes is the size of pages for long ranges; 0: there is no such size.
	PageLargeBytes uint64
	// KeepsContents gives private pages the capability device.ContentKeeper.
	KeepsContents bool
	// VirtualBytes bounds the address space that can be reserved; 0 means 128 TiB.
	VirtualBytes uint64
	// PinnedBytes bounds the page-locked memory of each device; 0: it has none.
	PinnedBytes uint64
	// Kinds gives the devices managed memory, registered memory of the process, and a
	// stream-ordered pool.
	Kinds bool
	// NoLinks removes the capabilities to use external memory and streams, to link and
	// to prefetch.
	NoLinks bool
	// Capture gives the streams the capability to record their work in graphs.
	Capture bool
	// Manual makes new streams, including the default one, hold their work.
	Manual bool
}

// Driver is a backend of test devices.
type Driver struct {
	config Config

	mu sync.Mutex
	// progress is signalled whenever queued work has run.
	progress *sync.Cond
	probeErr error
	devices  []*Device
	// streams has every open stream of every device. Progress of one may let another
	// continue.
	streams []*Stream
	// captures counts the captures that began.
	captures uint64
}

type segment struct {
	size uint64
	// bytes is nil unless the device is backed or the segment is page-locked.
	bytes []byte
	// host is the host address of a page-locked segment; 0 for others.
	host device.HostAddr
	// linked is the memory of a linked range; its device is nil for others.
	linked use
	// adopted states that the memory is external.
	adopted bool
	// sharers counts the Shared adoptions of exactly this range.
	sharers int
	// readOnly states that the external memory must not be written.
	readOnly bool
	// made is the call that created it, for the kinds of memory in kinds.go.
	made Call
	// advice is the last advice for a part of it.
	advice device.Advice
}

// Device is a test device. It has the methods of the driver interface and the test's
// controls.
type Device struct {
	device.ContentKeeper

	driver *Driver
	info   device.Info

	// driver.mu guards all fields below.
	faults        faults
	segments      map[device.Addr]segment
	next          device.Addr
	virtual       virtual
	held          uint64
	pinned        uint64
	others        uint64
	reading       *device.MemoryReading
	defaultStream *Stream
	openStreams   int
	openEvents    int
	forbidden     int
	clock         time.Duration
	hosts         []hostBuffer
	hostBytes     device.HostAddr
	closed        bool
}

// work is one entry of a stream's queue.
type work struct {
	// ready reports whether the work can run now; nil: always.
	ready func() bool
	// run runs the work under the driver's lock; nil: nothing.
	run func() error
	// host is called without the lock, instead of run.
	host func()
	cost time.Duration
	// uses has the ranges that run reads or writes.
	uses [2]use
}

// use is a range of a device's memory. Without a device it is empty.
type use struct {
	dev  *Device
	addr device.Addr
	size uint64
}

// Stream is a queue of work of a test device.
type Stream struct {
	dev *Device

	// dev.driver.mu guards all fields below.
	queue []work
	// hold keeps work queued until the test steps the stream.
	hold bool
	// steps is the number of held operations that may run.
	steps    int
	running  bool
	queued   uint64
	finished uint64
	failure  error
	closed   bool
	// graph is the graph of the stream's capture, or nil.
	graph *Graph
	// mayCapture is set by SetMayCapture.
	mayCapture bool
	// foreign is the native handle passed to AdoptStream.
	foreign uint64
}

// Event is a point in a test stream's queue.
type Event struct {
	dev *Device

	// dev.driver.mu guards all fields below.
	passed bool
	// graph is the graph of the capture in which the event was recorded.
	graph  *Graph
	at     time.Duration
	closed bool
}

// Graph is captured work. The work runs in the order in which it was queued, which is
// one of the orders that the edges allow.
type Graph struct {
	dev  *Device
	id   uint64
	work []work

	// dev.driver.mu guards all fields below.
	streams []*Stream
	spoilt  bool
	ended   bool
}

// hostBuffer is a Go slice with a simulated host address.
type hostBuffer struct {
	addr  device.HostAddr
	bytes []byte
}

// reservation is reserved address space; mapped has its pages by offset, and kept the
// contents that are kept without a page.
type reservation struct {
	base   device.Addr
	size   uint64
	mapped map[uint64]*page
	kept   map[uint64]keptContents
}

// keptContents are the contents of a page that was unmapped, with the values of the page.
type keptContents struct {
	mark             uint32
	size             uint64
	bytes            []byte
	touched, garbage bool
}

// page is a physical page. On a backed device its bytes are created by the first write.
type page struct {
	size    uint64
	backing device.Backing
	// in is the reservation where the page is mapped, at offset, with access; nil: it
	// is not mapped.
	in      *reservation
	offset  uint64
	access  device.Access
	touched bool
	bytes   []byte
	// unfilled is set by CreateUnfilled. garbage states that bytes to which nothing was
	// written are Unfilled, otherwise they are 0.
	unfilled, garbage bool
}

// Unfilled is the value of the bytes of a page of CreateUnfilled.
const Unfilled = 0xA5

// virtual has the address space and physical pages of a device. driver.mu guards it.
type virtual struct {
	reservations map[device.Addr]*reservation
	reserved     uint64
	next         device.Addr
	pages        map[device.Page]*page
	lastPage     device.Page
	// sizes counts the existing pages by the power of two of their size. sizesThere has
	// a bit for each size with at least one page.
	sizes      [64]int
	sizesThere uint64
}
