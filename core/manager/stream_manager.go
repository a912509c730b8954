package manager

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/track"
)

// StreamManager creates the streams of one device. Its methods that take a handle work
// for a stream of any device, like those of the Factory. It is safe for concurrent use.
type StreamManager struct {
	*Factory
	engine *engine.Engine
}

// CreateStreamManager returns the StreamManager of a device.
func (f *Factory) CreateStreamManager(e *engine.Engine) *StreamManager {
	return &StreamManager{Factory: f, engine: e}
}

// Engine returns the engine of the device on which streams are created.
func (s *StreamManager) Engine() *engine.Engine { return s.engine }

// CreateStream creates a stream.
func (s *StreamManager) CreateStream() (StreamHandle, error) {
	return s.newStream("stream.create", s.engine.Device().NewStream, false)
}

// AdoptStream assigns a handle to an external stream. Its owner keeps it until the
// handle is destroyed, which does not destroy the stream. Work of the owner also counts
// for the end of the queue: freed blocks and Synchronize wait for it. IsStreamReady
// reports only the work that was queued by the handle. Errors: those of
// device.StreamAdopter; CodeUnsupported if the device lacks the capability.
func (s *StreamManager) AdoptStream(foreign device.ForeignStream) (StreamHandle, error) {
	const op = "stream.adopt"
	adopter, ok := s.engine.Device().(device.StreamAdopter)
	if !ok {
		return 0, lacks(op, s.engine, "use external streams")
	}
	return s.newStream(op, func() (device.Stream, error) { return adopter.AdoptStream(foreign) }, true)
}

// lacks is the error for a capability that a device does not have.
func lacks(op string, e *engine.Engine, what string) error {
	return device.Errorf(device.CodeUnsupported, op, "device %s cannot %s", e.ID(), what).On(e.ID())
}

func (s *StreamManager) newStream(op string, open func() (device.Stream, error), adopted bool) (StreamHandle, error) {
	d := s.deviceOf(s.engine)
	if err := d.begin(op, &d.streams); err != nil {
		return 0, err
	}
	h, err := s.addStream(d, open, adopted)
	d.end(&d.streams, err)
	return h, err
}

func (f *Factory) addStream(d *openDevice, open func() (device.Stream, error), adopted bool) (StreamHandle, error) {
	dev, err := open()
	if err != nil {
		return 0, err
	}
	made := &stream{owner: d, dev: dev, adopted: adopted, madeAt: track.Now()}
	made.mu.Lock()
	defer made.mu.Unlock()
	id, err := f.streams.Insert(made)
	if err != nil {
		made.state = streamClosed
		if closeErr := dev.Close(); closeErr != nil {
			d.engine.Log(engine.Warning, "a stream without a handle could not be closed: "+closeErr.Error())
		}
		return 0, err
	}
	made.handle = StreamHandle(id)
	return made.handle, nil
}

// DefaultStream returns the handle of the device's default stream, which is the same
// each time.
func (s *StreamManager) DefaultStream() (StreamHandle, error) {
	found, err := s.defaultStream(s.deviceOf(s.engine))
	if err != nil {
		return 0, err
	}
	return found.handle, nil
}

// defaultStream assigns a handle to the default stream of a device at the first call.
func (f *Factory) defaultStream(d *openDevice) (*stream, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.defaultStream != nil {
		return d.defaultStream, nil
	}
	if d.closing {
		return nil, d.closingError("stream.default")
	}
	made := &stream{owner: d, dev: d.engine.Device().DefaultStream(), isDefault: true, madeAt: track.Now()}
	made.mu.Lock()
	defer made.mu.Unlock()
	id, err := f.streams.Insert(made)
	if err != nil {
		return nil, err
	}
	made.handle = StreamHandle(id)
	d.defaultStream = made
	return made, nil
}

// streamOn finds the stream for work on a device; 0 is its default stream.
func (f *Factory) streamOn(op string, d *openDevice, h StreamHandle) (*stream, error) {
	if h == DefaultStream {
		return f.defaultStream(d)
	}
	found, err := f.lookUpStream(op, h)
	if err != nil {
		return nil, err
	}
	if found.owner != d {
		return nil, device.Errorf(device.CodeInvalidArgument, op,
			"stream %#x is of device %s; the work is on device %s",
			uint64(h), found.owner.engine.ID(), d.engine.ID()).On(d.engine.ID())
	}
	return found, nil
}

func (f *Factory) lookUpStream(op string, h StreamHandle) (*stream, error) {
	found, err := f.streams.Get(uint64(h))
	if err != nil {
		return nil, badHandle(op, "stream", err)
	}
	return found, nil
}

// Stream finds a stream of any device, for pools.
func (f *Factory) Stream(h StreamHandle) (device.Stream, *engine.Engine, error) {
	found, err := f.lookUpStream("stream.get", h)
	if err != nil {
		return nil, nil, err
	}
	return found.dev, found.owner.engine, nil
}

// StreamEnded returns CodeInvalidHandle for a stream that is destroyed or being
// destroyed, even while its handle is still found; nil for a live one.
func (f *Factory) StreamEnded(h StreamHandle) error {
	const op = "stream.use"
	found, err := f.lookUpStream(op, h)
	if err != nil {
		return err
	}
	return found.queue(op, func(device.Stream) error { return nil })
}

// DestroyStream destroys a stream. Without force it returns CodeBusy while work is
// queued; with force it waits for the work. It returns CodeInvalidArgument for the
// default stream.
func (f *Factory) DestroyStream(h StreamHandle, force bool) error {
	const op = "stream.destroy"
	found, err := f.lookUpStream(op, h)
	if err != nil {
		return err
	}
	d := found.owner
	if found.isDefault {
		return device.Errorf(device.CodeInvalidArgument, op,
			"stream %#x is the default stream of %s, which ends when its device closes",
			uint64(h), d.engine.ID()).On(d.engine.ID())
	}
	if err := found.destroy(force); err != nil {
		return err
	}
	if _, err := f.streams.Remove(uint64(h)); err != nil {
		return err
	}
	d.gone(&d.streams)
	return nil
}

// SynchronizeStream waits until all work queued so far has completed. It returns
// CodeTimeout if that takes longer than timeout (device.Forever: no limit; 0: no wait).
// Otherwise it returns the first failure of queued work since the last call.
func (f *Factory) SynchronizeStream(h StreamHandle, timeout time.Duration) error {
	found, err := f.lookUpStream("stream.synchronize", h)
	if err != nil {
		return err
	}
	if err := found.dev.Synchronize(timeout); err != nil {
		if found.isClosed() {
			return destroyed("stream.synchronize", handle.Stream, uint64(h))
		}
		return err
	}
	return found.takeFailure()
}

// IsStreamReady reports, without waiting, whether all work queued so far has completed.
func (f *Factory) IsStreamReady(h StreamHandle) (bool, error) {
	found, err := f.lookUpStream("stream.is_ready", h)
	if err != nil {
		return false, err
	}
	return found.idle()
}

// HostFunction queues a call of fn on a stream. fn runs on a thread of the driver with
// no lock held. It must not wait for its own stream.
func (f *Factory) HostFunction(h StreamHandle, fn func()) error {
	const op = "stream.host_function"
	found, err := f.lookUpStream(op, h)
	if err != nil {
		return err
	}
	if fn == nil {
		return device.Errorf(device.CodeNullPointer, op, "function is nil").On(found.owner.engine.ID())
	}
	return found.queue(op, func(dev device.Stream) error { return dev.HostFunction(fn) })
}

// StreamInfo describes a stream with a handle.
type StreamInfo struct {
	Handle    StreamHandle
	Engine    *engine.Engine
	IsDefault bool
	// MadeAt is on the clock of track.
	MadeAt time.Duration
}

// EachStream visits the streams of all devices until visit returns false.
func (f *Factory) EachStream(visit func(StreamInfo) bool) {
	f.streams.Each(func(id uint64, s *stream) bool {
		return visit(StreamInfo{
			Handle: StreamHandle(id), Engine: s.owner.engine, IsDefault: s.isDefault, MadeAt: s.madeAt,
		})
	})
}
