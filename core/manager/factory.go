package manager

import (
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/internal/roster"
)

// Factory creates the managers and stream managers of all devices, and owns the handles
// of their blocks, streams and events. It is safe for concurrent use.
type Factory struct {
	memory  *handle.Table[*block]
	streams *handle.Table[*stream]
	events  *handle.Table[*event]
	staging staging
	// blocks counts the blocks created so far.
	blocks atomic.Uint64

	mu      sync.Mutex
	devices map[*engine.Engine]*openDevice
}

// NewFactory creates an empty factory.
func NewFactory() *Factory {
	return &Factory{
		memory:  handle.New[*block](handle.Memory),
		streams: handle.New[*stream](handle.Stream),
		events:  handle.New[*event](handle.Event),
		staging: staging{take: takeHostBuffer, takeMapCopy: takeMapCopy},
		devices: map[*engine.Engine]*openDevice{},
	}
}

// openDevice has the objects that the factory has created on one device.
type openDevice struct {
	engine *engine.Engine

	mu sync.Mutex
	// quiet is signalled when a call that creates something has ended.
	quiet *sync.Cond
	// closing rejects new objects; it stays set when the device is closed. sealed
	// states that SealDevice has set closing, and CloseDevice was not called yet.
	closing, sealed bool
	making          int
	// managers, streams and events count objects from before their creation until they
	// are destroyed. The default stream does not count as a stream.
	managers, streams, events int
	// built has the managers that can be used.
	built         roster.List[*Manager]
	defaultStream *stream
	// bounce is the stream for staged copies from or to this device.
	bounce device.Stream

	unclosedMu sync.Mutex
	// unclosed has events whose close failed.
	unclosed []device.Event
	// unlinks has ranges of freed linked blocks that queued work may still use.
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

// closingError is the error of a call on a device that is being closed.
func (d *openDevice) closingError(op string) error {
	return device.Errorf(device.CodeInvalidHandle, op, "the device is being closed").On(d.engine.ID())
}

// begin counts an object before its creation.
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

// end ends a creation that begin has counted; err is its result.
func (d *openDevice) end(count *int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		*count--
	}
	d.making--
	d.quiet.Broadcast()
}

// gone subtracts a destroyed object from a count.
func (d *openDevice) gone(count *int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*count--
}
