package host

import (
	"fmt"
	"sync"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/virtual"
)

// openDevice is one open of a device.
type openDevice struct {
	device.VirtualMemory
	device.Exporter

	driver   *Driver
	info     device.Info
	capacity deviceCapacity
	segments segmentTable
	// foreign is memory of somebody else's that was adopted or linked.
	foreign segmentTable
	// virtual is what the methods of device.VirtualMemory and device.Exporter are of.
	virtual *virtual.Memory

	mu     sync.Mutex
	closed bool
	// live counts segments from before they are mapped until after they are
	// unmapped, so that Close cannot slip in between.
	live int

	defaultStream *stream
	// streams are the open ones, the default stream included.
	streams map[*stream]struct{}
	// opened numbers the streams for the names of their workers.
	opened int
}

var (
	_ device.Device        = (*openDevice)(nil)
	_ device.Peer          = (*openDevice)(nil)
	_ device.HostVisible   = (*openDevice)(nil)
	_ device.VirtualMemory = (*openDevice)(nil)
	_ device.PinnedHost    = (*openDevice)(nil)
	_ device.Adopter       = (*openDevice)(nil)
	_ device.Linker        = (*openDevice)(nil)
	_ device.Exporter      = (*openDevice)(nil)
	_ device.Prefetcher    = (*openDevice)(nil)
	_ device.StreamAdopter = (*openDevice)(nil)
)

func newOpenDevice(d *Driver, index int) *openDevice {
	o := &openDevice{
		driver: d, info: d.info(index), streams: make(map[*stream]struct{}),
	}
	o.capacity = deviceCapacity{driver: d, memory: d.memories[index], id: o.info.ID}
	o.virtual = virtual.New(d.virtual, o.info.ID, o.capacity)
	o.VirtualMemory, o.Exporter = o.virtual, o.virtual
	o.defaultStream = newStream(o, 0)
	o.streams[o.defaultStream] = struct{}{}
	return o
}

func (o *openDevice) Info() device.Info { return o.info }

// errorf makes an error about this device.
func (o *openDevice) errorf(code device.Code, op, format string, args ...any) error {
	return device.Errorf(code, op, format, args...).On(o.info.ID)
}

// check refuses a call on a closed device. The caller holds o.mu.
func (o *openDevice) check(op string) error {
	if o.closed {
		return o.errorf(device.CodeInvalidState, op, "the device is closed")
	}
	return nil
}

// checkOpen is check for callers that do not hold o.mu.
func (o *openDevice) checkOpen(op string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.check(op)
}

// Memory gives the capacity of the device and what can still be had of it: the
// room that its segments leave, and not more than its part of what the system
// has available (MemAvailable and the room under the control groups' limits,
// less what was handed out and not touched yet). Several devices share what the
// system has in proportion to their room. A forced capacity is taken as it is.
func (o *openDevice) Memory() (device.MemoryReading, error) {
	if err := o.checkOpen("host.memory"); err != nil {
		return device.MemoryReading{}, err
	}
	return device.MemoryReading{TotalBytes: o.capacity.Bytes(), FreeBytes: o.driver.free(o.capacity.memory)}, nil
}

func (o *openDevice) DefaultStream() device.Stream { return o.defaultStream }

func (o *openDevice) NewStream() (device.Stream, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.check("host.new_stream"); err != nil {
		return nil, err
	}
	o.opened++
	s := newStream(o, o.opened)
	o.streams[s] = struct{}{}
	return s, nil
}

// forget takes a stopped stream off the list.
func (o *openDevice) forget(s *stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.streams, s)
}

// Synchronize waits for the work that is queued on each stream now. Failures of
// queued work are left for the streams' own Synchronize. Called from a host
// function of one of the streams it is CodeInvalidState (on Linux; elsewhere it
// waits for itself).
func (o *openDevice) Synchronize(timeout time.Duration) error {
	o.mu.Lock()
	err := o.check("host.synchronize_device")
	streams := make([]*stream, 0, len(o.streams))
	for s := range o.streams {
		streams = append(streams, s)
	}
	o.mu.Unlock()
	if err != nil {
		return err
	}
	wait, err := newDeadline("host.synchronize_device", timeout)
	if err != nil {
		return o.about(err)
	}
	defer wait.stop()
	for _, s := range streams {
		if err := s.await(s.submitted.Load(), wait); err != nil {
			return err
		}
	}
	return nil
}

// Close stops the default stream after it has run dry.
func (o *openDevice) Close() error {
	if o.defaultStream.insideHostFunction() {
		return o.errorf(device.CodeInvalidState, "host.close", "called from a host function of the default stream")
	}
	o.mu.Lock()
	if err := o.check("host.close"); err != nil {
		o.mu.Unlock()
		return err
	}
	if left := o.left(); left != "" {
		o.mu.Unlock()
		return o.errorf(device.CodeBusy, "host.close", "%s are left", left)
	}
	o.closed = true
	o.mu.Unlock()
	return o.defaultStream.shut("host.close")
}

// left says what keeps the device open, or "": then its virtual memory is closed. The
// caller holds mu.
func (o *openDevice) left() string {
	streams, foreign := len(o.streams)-1, o.foreign.count()
	reservations, pages := o.virtual.Left()
	if o.live == 0 && streams == 0 && foreign == 0 {
		if reservations, pages = o.virtual.Close(); reservations == 0 && pages == 0 {
			return ""
		}
	}
	return fmt.Sprintf("%d segments and %d streams, %d reservations and %d pages of virtual memory, "+
		"%d ranges of others", o.live, streams, reservations, pages, foreign)
}
