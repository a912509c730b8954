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
	// Devices is how many there are; 0 is 1.
	Devices int
	// TotalBytes is the capacity of each; 0 reads as unknown and has no bound.
	TotalBytes uint64
	// GranularityBytes and AlignmentBytes are 4096 when 0.
	GranularityBytes uint64
	AlignmentBytes   uint64
	// Backed gives segments real bytes, so that copies and fills can be looked
	// at with Device.Bytes, and makes the devices host-visible.
	Backed bool
	// NoVirtualMemory takes the capability of virtual memory away.
	NoVirtualMemory bool
	// PageMinimumBytes and PageRecommendedBytes are the granularity of virtual
	// memory; when 0 they are 64 KiB and 2 MiB.
	PageMinimumBytes     uint64
	PageRecommendedBytes uint64
	// PageLargeBytes is the size of pages for long ranges; 0: there is none.
	PageLargeBytes uint64
	// VirtualBytes bounds the address space that can be reserved; 0 is 128 TiB.
	VirtualBytes uint64
	// PinnedBytes bounds page-locked memory of each device; 0: it has none.
	PinnedBytes uint64
	// Kinds gives the devices managed memory, memory of the process that is page-locked
	// later, and a pool of their runtime.
	Kinds bool
	// NoLinks takes away the capabilities of addressing memory and streams of others
	// and of bringing memory near.
	NoLinks bool
	// Capture gives the streams the capability of recording their work in graphs.
	Capture bool
	// Manual makes new streams, the default one included, hold their work.
	Manual bool
}

// Driver is a backend of test devices.
type Driver struct {
	config Config

	mu sync.Mutex
	// progress is signalled whenever queued work has been done.
	progress *sync.Cond
	probeErr error
	devices  []*Device
	// streams is every open stream of every device: one that advances may let
	// another go on.
	streams []*Stream
	// captures counts those that began.
	captures uint64
}

type segment struct {
	size uint64
	// bytes is nil unless the device is backed, or the segment page-locked.
	bytes []byte
	// host is where the process addresses a page-locked segment; 0 for others.
	host device.HostAddr
	// linked is where the memory of a linked range is; its device is nil for others.
	linked use
	// adopted says that somebody else owns the memory.
	adopted bool
	// readOnly says that the memory of others is not to be written.
	readOnly bool
	// made is the call that gave it, for the kinds of memory of kinds.go.
	made Call
	// advice is the last that was given for a part of it.
	advice device.Advice
}

// Device is a test device. Besides the calls of the driver seam it has the
// test's controls.
type Device struct {
	driver *Driver
	info   device.Info

	// All below is guarded by driver.mu.
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
	// ready says whether it can be done now; nil: always.
	ready func() bool
	// run does it under the driver's lock; nil: nothing.
	run func() error
	// host is called without the lock, instead of run.
	host func()
	cost time.Duration
	// uses are the ranges that run reads or writes.
	uses [2]use
}

// use is a range of a device's memory; one of no device is none.
type use struct {
	dev  *Device
	addr device.Addr
	size uint64
}

// Stream is a queue of work of a test device.
type Stream struct {
	dev *Device

	// All below is guarded by dev.driver.mu.
	queue []work
	// hold keeps work queued until the test steps the stream.
	hold bool
	// steps is how much of the held work may be done.
	steps    int
	running  bool
	queued   uint64
	finished uint64
	failure  error
	closed   bool
	// graph is what the stream is captured for, or nil.
	graph *Graph
	// foreign is what AdoptStream was given, but for the function.
	foreign uint64
}

// Event is a point in a test stream's queue.
type Event struct {
	dev *Device

	// All below is guarded by dev.driver.mu.
	passed bool
	// graph is that of the capture in which it was recorded.
	graph  *Graph
	at     time.Duration
	closed bool
}

// Graph is work that was captured. Its pieces run in the order in which they were
// queued, which is one of those that their edges allow.
type Graph struct {
	dev  *Device
	id   uint64
	work []work

	// All below is guarded by dev.driver.mu.
	streams []*Stream
	spoilt  bool
	ended   bool
}

// hostBuffer is a Go slice with a made-up host address.
type hostBuffer struct {
	addr  device.HostAddr
	bytes []byte
}

// reservation is address space; mapped holds its pages by their offset.
type reservation struct {
	base   device.Addr
	size   uint64
	mapped map[uint64]*page
}

// page is a physical page. The bytes of a backed device come into being with
// the first write to them.
type page struct {
	size    uint64
	backing device.Backing
	// in is where it is mapped, at offset, with access; nil: nowhere.
	in      *reservation
	offset  uint64
	access  device.Access
	touched bool
	bytes   []byte
}

// virtual is a device's address space and physical pages, under driver.mu.
type virtual struct {
	reservations map[device.Addr]*reservation
	reserved     uint64
	next         device.Addr
	pages        map[device.Page]*page
	lastPage     device.Page
	// sizes counts the pages that are there by the power of two that is their size, and
	// sizesThere has a bit for each size of which there are some.
	sizes      [64]int
	sizesThere uint64
}
