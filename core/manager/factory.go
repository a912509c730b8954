package manager

import (
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/internal/roster"
)

// Factory makes the managers and stream managers of all devices, and owns the
// handles of their blocks, streams and events. Safe for concurrent use.
type Factory struct {
	memory  *handle.Table[*block]
	streams *handle.Table[*stream]
	events  *handle.Table[*event]
	staging staging
	// blocks counts the blocks made so far.
	blocks atomic.Uint64

	mu      sync.Mutex
	devices map[*engine.Engine]*openDevice
}

// NewFactory makes a factory that has given out nothing.
func NewFactory() *Factory {
	return &Factory{
		memory:  handle.New[*block](handle.Memory),
		streams: handle.New[*stream](handle.Stream),
		events:  handle.New[*event](handle.Event),
		staging: staging{take: takeHostBuffer, takeMapCopy: takeMapCopy},
		devices: map[*engine.Engine]*openDevice{},
	}
}

// openDevice is what the factory has made on one device.
type openDevice struct {
	engine *engine.Engine

	mu sync.Mutex
	// quiet is signalled when a call that makes something has ended.
	quiet *sync.Cond
	// closing refuses to make anything more; it stays when the device is closed.
	// sealed says that SealDevice has set it, and CloseDevice was not called yet.
	closing, sealed bool
	making          int
	// managers, streams and events are counted from before they are made until
	// they are gone; the default stream is not among the streams.
	managers, streams, events int
	// built is the managers that can be used.
	built         roster.List[*Manager]
	defaultStream *stream
	// bounce is the stream that staged copies from or to this device use.
	bounce device.Stream

	unclosedMu sync.Mutex
	// unclosed are events that could not be closed yet.
	unclosed []device.Event
	// unlinks are ranges that linked blocks had here, which queued work may still use.
	unlinks []linkedRange
}

func (f *Factory) deviceOf(e *engine.Engine) *openDevice {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.devices[e]
	if d == nil {
		d = &openDevice{engine: e}
		d.quiet = sync.NewCond(&d.mu)
		f.devices[e] = d
	}
	return d
}

// closingError is what a call hears that comes when its device is as good as gone.
func (d *openDevice) closingError(op string) error {
	return device.Errorf(device.CodeInvalidHandle, op, "the device is being closed").On(d.engine.ID())
}

// begin counts something that is about to be made.
func (d *openDevice) begin(op string, count *int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return d.closingError(op)
	}
	*count++
	d.making++
	return nil
}

// end says how the making that begin announced went.
func (d *openDevice) end(count *int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		*count--
	}
	d.making--
	d.quiet.Broadcast()
}

// gone takes something out of a count.
func (d *openDevice) gone(count *int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*count--
}
