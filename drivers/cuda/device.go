package cuda

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
	"ferrum_mem/drivers/internal/gpu/ranges"
)

// openDevice is one open of a device.
type openDevice struct {
	driver *Driver
	ctx    driverContext
	info   device.Info
	// ordered says that memory can be had in the order of a stream.
	ordered bool
	// What the device has of priorities.
	leastPriority, greatestPriority int32

	ranges      ranges.Table[*openDevice]
	virtual     virtualMemory
	orderedPool orderedPool

	mu sync.Mutex
	// live counts what Alloc, AllocPinned, Reserve, Create and Compile gave, from before
	// it is there until after it is gone.
	live    int
	streams map[*stream]struct{}
	events  deviceEvents

	// peers are the devices whose contexts this one's may use.
	peers map[*openDevice]struct{}

	defaultStream *stream
	scrub         scrubber
	looker        looker
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

// prepare makes what an open device always has.
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

// end ends what an open device always has, and gives the context back.
func (o *openDevice) end() {
	const op = "cuda.close"
	o.looker.mu.Lock()
	o.looker.dropKernel(op)
	o.looker.mu.Unlock()
	for _, s := range []*stream{o.defaultStream, o.scrub.stream} {
		if s != nil {
			s.end(op)
		}
	}
	o.orderedPool.end(op)
	o.events.end(op)
	hostCalls.Forget(func(s *stream) bool { return s.owner == o })
	o.ctx.leaveContext()
}

func (o *openDevice) Info() device.Info { return o.info }

// errorf makes an error about this device.
func (c *driverContext) errorf(code device.Code, op, format string, args ...any) error {
	return device.Errorf(code, op, format, args...).On(c.id)
}

func (c *driverContext) checkOpen(op string) error {
	if c.closed.Load() {
		return c.errorf(device.CodeInvalidState, op, "the device is closed")
	}
	return nil
}

// hold counts what is about to be given out, so that Close cannot slip in between.
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

// NewStream makes a stream of the least priority.
func (o *openDevice) NewStream() (device.Stream, error) {
	return o.NewPriorityStream(0)
}

// NewPriorityStream makes a stream whose work goes before that of streams with a
// greater number. A priority that is not between those of StreamPriorities is
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

// StreamPriorities is the range of priorities: the least one is the greatest number.
func (o *openDevice) StreamPriorities() (least, greatest int, err error) {
	if err := o.ctx.usable("cuda.stream_priorities"); err != nil {
		return 0, 0, err
	}
	return int(o.leastPriority), int(o.greatestPriority), nil
}

// Synchronize waits for the work that is queued on each stream of this Device now. Those
// that capture are left out, and then it is CodeInvalidState when the others have run dry.
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

// Close waits for the default stream and releases the primary context. A device that
// is lost is closed as well, and what it held is gone with its context.
func (o *openDevice) Close() error {
	const op = "cuda.close"
	if err := o.ctx.checkOpen(op); err != nil {
		return err
	}
	if err := o.ctx.outsideHostFunction(op); err != nil {
		return err
	}
	if o.ctx.lost.Load() == nil {
		// It could be neither waited for nor given back.
		if err := o.ctx.current(op, func() error { return o.defaultStream.uncaptured(op) }); errors.Is(err, errCapturing) {
			return err
		}
	}
	o.mu.Lock()
	left := o.left()
	if left == "" && o.ctx.closed.Swap(true) {
		o.mu.Unlock()
		return o.ctx.errorf(device.CodeInvalidState, op, "the device is closed")
	}
	o.mu.Unlock()
	if left != "" {
		return o.ctx.errorf(device.CodeBusy, op, "%s are left", left)
	}
	// Calls that began before are let finish; those that come now see that it is closed.
	o.ctx.gate.Lock()
	//lint:ignore SA2001 there is nothing to do inside: to have had it is enough.
	o.ctx.gate.Unlock()
	o.end()
	return nil
}

// left says what keeps the device open, or "".
func (o *openDevice) left() string {
	if o.live == 0 && len(o.streams) == 0 {
		return ""
	}
	return fmt.Sprintf("%d segments, reservations, pages, modules and ranges of others, and %d streams", o.live, len(o.streams))
}

// event is an event of the driver, for which a thread sleeps rather than spins. It has
// no timing, which costs the device nothing, unless that was asked for.
type event struct {
	owner *openDevice
	// number counts the events of a device: two of them are locked in this order.
	number uint64
	timed  bool
	// capture is that in which it was recorded, of which it is an edge.
	capture captureState
	// shared says that it has a handle in other processes, and foreign that it is
	// somebody else's.
	shared, foreign bool

	// using is held for reading while the handle is in use, and for writing when it
	// is given back.
	using  sync.RWMutex
	handle uintptr
	closed bool
}

// stream is a stream of the driver that does not wait for the legacy default stream.
type stream struct {
	owner  *openDevice
	handle uintptr
	closed atomic.Bool
	// foreign is set where somebody else made it and will destroy it.
	foreign bool
	// drained is set once a stream of somebody else's was found destroyed, and what was
	// queued there has run.
	drained atomic.Bool
	// mayCapture is set once somebody else may have the stream capture: only then is
	// it asked. joining is held for writing while the stream may join a capture, and for
	// reading from the question whether it captures until that of its work.
	mayCapture atomic.Bool
	joining    sync.RWMutex

	// using is held for reading while the handle is in use, and for writing when it
	// is destroyed.
	using sync.RWMutex

	mu sync.Mutex
	// failure is that of a host function since the last Synchronize.
	failure error
}
