package cuda

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/ranges"
	"ferrum_mem/internal/dl"
)

// openDevice is the result of one call that opened a device.
type openDevice struct {
	driver *Driver
	ctx    driverContext
	info   device.Info
	// ordered states whether the device can allocate memory in the order of a stream.
	ordered bool
	// The range of stream priorities of the device.
	leastPriority, greatestPriority int32

	ranges      ranges.Table[*openDevice]
	virtual     virtualMemory
	orderedPool orderedPool

	mu sync.Mutex
	// live counts what Alloc, AllocPinned, Reserve, Create and Compile returned. It is
	// raised before the object exists and lowered after the object has ended.
	live    int
	streams map[*stream]struct{}
	events  deviceEvents

	// peers are the devices whose contexts the context of this device may access.
	peers map[*openDevice]struct{}

	defaultStream *stream
	scrub         scrubber
	looker        searcher
}

var (
	_ device.Device        = (*openDevice)(nil)
	_ device.Peer          = (*openDevice)(nil)
	_ device.PinnedHost    = (*openDevice)(nil)
	_ device.VirtualMemory = (*openDevice)(nil)
)

func newOpenDevice(d *Driver, one *found, callers uintptr) (*openDevice, error) {
	const op = "cuda.open"
	o := &openDevice{
		driver: d, ctx: driverContext{api: d.api, cuDevice: one.handle, id: one.info.ID},
		info: one.info, ordered: one.ordered,
		streams: make(map[*stream]struct{}), events: deviceEvents{known: make(map[*event]struct{})},
		peers: make(map[*openDevice]struct{}),
	}
	o.scrub.ctx, o.events.ctx = &o.ctx, &o.ctx
	o.orderedPool.ctx, o.orderedPool.newStream = &o.ctx, o.newStream
	o.looker.ctx, o.looker.scrub = &o.ctx, &o.scrub
	o.looker.compiles, o.looker.load = one.info.Compiler, o.loadModule
	o.virtual.init(&o.ctx, &o.scrub)
	if err := o.ctx.enterContext(op, callers); err != nil {
		return nil, err
	}
	err := o.prepare(op)
	if err != nil {
		o.end()
		return nil, err
	}
	return o, nil
}

// prepare creates the objects that every open device needs.
func (o *openDevice) prepare(op string) (err error) {
	if o.info.VirtualMemory {
		if err := o.virtual.measure(op); err != nil {
			return err
		}
	}
	err = o.ctx.within(op, func() error {
		return o.ctx.call(op, "", &o.ctx.api.priorityRange, dl.Pointer(&o.leastPriority), dl.Pointer(&o.greatestPriority))
	})
	if err != nil {
		return err
	}
	if o.defaultStream, err = o.newStream(op, 0); err != nil {
		return err
	}
	if o.scrub.stream, err = o.newStream(op, 0); err != nil {
		return err
	}
	o.ctx.probe = o.scrub.stream.handle
	return nil
}

// end destroys what prepare created, and releases the context.
func (o *openDevice) end() {
	const op = "cuda.close"
	o.looker.mu.Lock()
	o.looker.dropKernel()
	o.looker.mu.Unlock()
	for _, s := range []*stream{o.defaultStream, o.scrub.stream} {
		if s != nil {
			s.end()
		}
	}
	o.orderedPool.end()
	o.events.end()
	o.ctx.payAtEnd(op)
	hostCalls.Forget(func(s *stream) bool { return s.owner == o })
	o.ctx.leaveContext()
}

func (o *openDevice) Info() device.Info { return o.info }

// errorf creates an error about this device.
func (c *driverContext) errorf(code device.Code, op, format string, args ...any) error {
	return device.Errorf(code, op, format, args...).On(c.id)
}

func (c *driverContext) checkOpen(op string) error {
	if c.closed.Load() {
		return c.errorf(device.CodeInvalidState, op, "the device is closed")
	}
	return nil
}

// hold counts n new objects before they exist, so that Close cannot run in between.
func (o *openDevice) hold(op string, n int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.ctx.checkOpen(op); err != nil {
		return err
	}
	o.live += n
	return nil
}

func (o *openDevice) drop(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.live -= n
}

func (o *openDevice) DefaultStream() device.Stream { return o.defaultStream }

// NewStream creates a stream of the lowest priority.
func (o *openDevice) NewStream() (device.Stream, error) {
	return o.NewPriorityStream(0)
}

// NewPriorityStream creates a stream. Its work runs before the work of streams with a
// greater priority number. A priority outside the range of StreamPriorities returns
// CodeInvalidArgument.
func (o *openDevice) NewPriorityStream(priority int) (device.Stream, error) {
	const op = "cuda.new_stream"
	least, greatest, err := o.StreamPriorities()
	if err != nil {
		return nil, err
	}
	if priority > least || priority < greatest {
		return nil, o.ctx.errorf(device.CodeInvalidArgument, op,
			"priority %d: the device has those from %d (least) to %d (greatest)", priority, least, greatest)
	}
	s, err := o.newStream(op, priority)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	o.streams[s] = struct{}{}
	o.mu.Unlock()
	return s, nil
}

// StreamPriorities returns the range of priorities. The lowest priority is the greatest
// number.
func (o *openDevice) StreamPriorities() (least, greatest int, err error) {
	if err := o.ctx.usable("cuda.stream_priorities"); err != nil {
		return 0, 0, err
	}
	return int(o.leastPriority), int(o.greatestPriority), nil
}

// Synchronize waits for the work that is now queued on the streams of this Device. It skips
// streams that capture. If there is one, the call returns CodeInvalidState after the other
// streams are drained.
func (o *openDevice) Synchronize(timeout time.Duration) error {
	const op = "cuda.synchronize_device"
	limit, err := o.newDeadline(op, timeout)
	if err != nil {
		return err
	}
	if err := o.ctx.checkOpen(op); err != nil {
		return err
	}
	o.mu.Lock()
	streams := []*stream{o.defaultStream}
	for s := range o.streams {
		streams = append(streams, s)
	}
	o.mu.Unlock()
	var capturing []*stream
	for _, s := range streams {
		err := s.await(op, limit)
		if errors.Is(err, errCapturing) {
			capturing = append(capturing, s)
		} else if err != nil && !s.closed.Load() {
			return err
		}
	}
	return o.leftOut(op, capturing, len(streams))
}

// Close waits for the default stream and releases the primary context. It fails while the
// vendor driver rejects a call that is owed (owed.go). It also closes a lost device, whose
// objects have ended with its context.
func (o *openDevice) Close() error {
	const op = "cuda.close"
	if err := o.ctx.checkOpen(op); err != nil {
		return err
	}
	if err := o.ctx.outsideHostFunction(op); err != nil {
		return err
	}
	if o.ctx.lost.Load() == nil {
		// A stream that captures can be neither waited for nor destroyed.
		if err := o.ctx.current(op, func() error { return o.defaultStream.uncaptured(op) }); errors.Is(err, errCapturing) {
			return err
		}
	}
	o.mu.Lock()
	live, streams := o.live, len(o.streams)
	used := live != 0 || streams != 0
	if !used && o.ctx.closed.Swap(true) {
		o.mu.Unlock()
		return o.ctx.errorf(device.CodeInvalidState, op, "the device is closed")
	}
	o.mu.Unlock()
	if used {
		return o.ctx.errorf(device.CodeBusy, op, "still in use: %d segments, reservations, pages, modules and external ranges, and %s",
			live, device.Count(streams, "stream"))
	}
	// Calls that began before run to their end. Later calls find the device closed.
	o.ctx.gate.Lock()
	//lint:ignore SA2001 there is nothing to do inside: to have had it is enough.
	o.ctx.gate.Unlock()
	if err := o.ctx.payAll(op); err != nil {
		o.ctx.closed.Store(false)
		return err
	}
	o.end()
	return nil
}

// event is an event of the vendor driver. A thread that waits for it sleeps instead of
// spinning. It has no timing unless the caller requested timing, because an event without
// timing costs the device less.
type event struct {
	owner *openDevice
	// number is the position of the event in the device's count of events. Two events are
	// locked in the order of their numbers.
	number uint64
	timed  bool
	// capture is the capture in which the event was recorded; the event is an edge of it.
	capture captureState
	// shared: other processes have a handle of the event. foreign: the event was created
	// outside this library.
	shared, foreign bool

	// using is held for reading while the handle is in use, and for writing while it is
	// released.
	using  sync.RWMutex
	handle uintptr
	closed bool
}

// stream is a stream of the vendor driver that does not wait for the legacy default stream.
type stream struct {
	owner  *openDevice
	handle uintptr
	closed atomic.Bool
	// foreign is set for a stream that was created outside this library, which will also be
	// destroyed there.
	foreign bool
	// drained is set after an external stream was found destroyed and its queued work has
	// completed.
	drained atomic.Bool
	// mayCapture is set once code outside this library may let the stream capture. Only
	// then is the capture state queried. joining is held for writing while the stream may
	// join a capture. It is held for reading from the query of the capture state to the end
	// of the query of the stream's work.
	mayCapture atomic.Bool
	joining    sync.RWMutex

	// using is held for reading while the handle is in use, and for writing when it
	// is destroyed.
	using sync.RWMutex

	mu sync.Mutex
	// failure is the error of a host function since the last Synchronize.
	failure error
}
