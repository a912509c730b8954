package manager

import (
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/track"
)

// event is an event with a handle.
type event struct {
	owner *openDevice
	dev   device.Event
	// madeAt is on the clock of track.
	madeAt time.Duration
	// users counts the calls inside dev, and one for the handle. The last user closes
	// dev, so that dev is never closed during a waiting call.
	users atomic.Int64
	// mu is held by the one call that destroys the event.
	mu   sync.Mutex
	dead bool
}

// acquire adds a user, unless the event is closed.
func (e *event) acquire() bool {
	for {
		users := e.users.Load()
		if users == 0 {
			return false
		}
		if e.users.CompareAndSwap(users, users+1) {
			return true
		}
	}
}

// release removes a user. The last user closes the event; if that fails, the user
// stays.
func (e *event) release() error {
	if e.users.Add(-1) > 0 {
		return nil
	}
	err := e.dev.Close()
	if err != nil {
		e.users.Add(1)
	}
	return err
}

// use finds a live event and calls fn with it.
func (f *Factory) use(op string, h EventHandle, fn func(*event) error) error {
	found, err := f.events.Get(uint64(h))
	if err != nil {
		return badHandle(op, "event", err)
	}
	if !found.acquire() {
		return destroyed(op, handle.Event, uint64(h)).On(found.owner.engine.ID())
	}
	err = fn(found)
	if closeErr := found.release(); closeErr != nil {
		// Its handle is already removed.
		found.owner.closeEvents(found.dev)
	}
	if device.CodeOf(err) == device.CodeInvalidState && found.isDead() {
		// The device may have been closed during the call.
		return destroyed(op, handle.Event, uint64(h)).On(found.owner.engine.ID())
	}
	return err
}

func (e *event) isDead() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dead
}

// RecordEvent records a new event at the present end of a stream's queue. EventElapsed
// can measure it.
func (f *Factory) RecordEvent(h StreamHandle) (EventHandle, error) {
	const op = "event.record"
	on, err := f.lookUpStream(op, h)
	if err != nil {
		return 0, err
	}
	return f.newEvent(op, on.owner, func() (made device.Event, err error) {
		err = on.queue(op, func(dev device.Stream) (err error) {
			made, err = device.RecordTimed(dev)
			return err
		})
		return made, err
	})
}

// ShareEvent records an event at the present end of a stream's queue that other
// processes can open by the returned handle. It returns CodeUnsupported for a device
// without that capability.
func (f *Factory) ShareEvent(h StreamHandle) (EventHandle, device.ProcessHandle, error) {
	const op = "event.share"
	var shared device.ProcessHandle
	on, err := f.lookUpStream(op, h)
	if err != nil {
		return 0, shared, err
	}
	sharer, err := on.owner.sharer(op)
	if err != nil {
		return 0, shared, err
	}
	made, err := f.newEvent(op, on.owner, func() (ev device.Event, err error) {
		err = on.queue(op, func(dev device.Stream) (err error) {
			ev, shared, err = sharer.ShareEvent(dev)
			return err
		})
		return ev, err
	})
	return made, shared, err
}

// OpenEvent assigns a handle to an event that another process shared.
func (s *StreamManager) OpenEvent(shared device.ProcessHandle) (EventHandle, error) {
	const op = "event.open"
	d := s.deviceOf(s.engine)
	sharer, err := d.sharer(op)
	if err != nil {
		return 0, err
	}
	return s.newEvent(op, d, func() (device.Event, error) { return sharer.OpenSharedEvent(shared) })
}

// AdoptEvent assigns a handle to an external event of the vendor's runtime. Its owner
// keeps it until the handle is destroyed, which does not destroy the event. It
// represents the owner's last record. Errors: those of device.EventAdopter;
// CodeUnsupported if the device lacks the capability.
func (s *StreamManager) AdoptEvent(native uint64) (EventHandle, error) {
	const op = "event.adopt"
	adopter, ok := s.engine.Device().(device.EventAdopter)
	if !ok {
		return 0, lacks(op, s.engine, "use external events")
	}
	return s.newEvent(op, s.deviceOf(s.engine), func() (device.Event, error) { return adopter.AdoptEvent(native) })
}

// sharer returns the capability of the device to share with other processes.
func (d *openDevice) sharer(op string) (device.ProcessSharer, error) {
	sharer, ok := d.engine.Device().(device.ProcessSharer)
	if !ok || !d.engine.Info().ProcessSharer {
		return nil, lacks(op, d.engine, "share with other processes")
	}
	return sharer, nil
}

// newEvent assigns a handle to an event that open creates.
func (f *Factory) newEvent(op string, d *openDevice, open func() (device.Event, error)) (EventHandle, error) {
	if err := d.begin(op, &d.events); err != nil {
		return 0, err
	}
	made, err := f.nameEvent(d, open)
	d.end(&d.events, err)
	return made, err
}

func (f *Factory) nameEvent(d *openDevice, open func() (device.Event, error)) (EventHandle, error) {
	made := &event{owner: d, madeAt: track.Now()}
	made.users.Store(1)
	var err error
	if made.dev, err = open(); err != nil {
		return 0, err
	}
	id, err := f.events.Insert(made)
	if err != nil {
		d.closeEvents(made.dev)
		return 0, err
	}
	return EventHandle(id), nil
}

// WaitEvent makes all later work of the stream wait for the event. The event may be of
// another stream or another device of the same backend. It returns CodeUnsupported for
// an event of another backend.
func (f *Factory) WaitEvent(h StreamHandle, wanted EventHandle) error {
	const op = "stream.wait_event"
	waiting, err := f.lookUpStream(op, h)
	if err != nil {
		return err
	}
	return f.use(op, wanted, func(e *event) error {
		mine, theirs := waiting.owner.engine.ID(), e.owner.engine.ID()
		if mine.Backend != theirs.Backend {
			return device.Errorf(device.CodeUnsupported, op,
				"event %#x is of device %s; a stream of %s cannot wait for it",
				uint64(wanted), theirs, mine).On(mine)
		}
		return waiting.queue(op, func(dev device.Stream) error { return dev.WaitEvent(e.dev) })
	})
}

// IsEventReady reports, without waiting, whether the event has completed.
func (f *Factory) IsEventReady(h EventHandle) (ready bool, err error) {
	err = f.use("event.is_ready", h, func(e *event) (err error) {
		ready, err = e.dev.Done()
		return err
	})
	return ready, err
}

// SynchronizeEvent waits until the event has completed. It returns CodeTimeout if that
// takes longer than timeout (device.Forever: no limit; 0: no wait).
func (f *Factory) SynchronizeEvent(h EventHandle, timeout time.Duration) error {
	return f.use("event.synchronize", h, func(e *event) error { return e.dev.Synchronize(timeout) })
}

// EventElapsed returns the time from start to end on the clock of their device. It is
// negative if end completed first. Errors: CodeInvalidState if one has not completed,
// CodeInvalidArgument if they are of two devices.
func (f *Factory) EventElapsed(start, end EventHandle) (elapsed time.Duration, err error) {
	const op = "event.elapsed"
	err = f.use(op, start, func(from *event) error {
		return f.use(op, end, func(to *event) error {
			if from.owner.engine != to.owner.engine {
				return device.Errorf(device.CodeInvalidArgument, op,
					"event %#x is of device %s and event %#x of device %s",
					uint64(start), from.owner.engine.ID(), uint64(end), to.owner.engine.ID())
			}
			var err error
			elapsed, err = device.Elapsed(from.dev, to.dev)
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	return elapsed, nil
}

// DestroyEvent destroys an event. Streams and calls that wait for it still wait.
func (f *Factory) DestroyEvent(h EventHandle) error {
	const op = "event.destroy"
	found, err := f.events.Get(uint64(h))
	if err != nil {
		return badHandle(op, "event", err)
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	if found.dead {
		return destroyed(op, handle.Event, uint64(h)).On(found.owner.engine.ID())
	}
	if err := found.release(); err != nil {
		return err
	}
	found.dead = true
	if _, err := f.events.Remove(uint64(h)); err != nil {
		return err
	}
	found.owner.gone(&found.owner.events)
	return nil
}

// EventInfo describes an event with a handle.
type EventInfo struct {
	Handle EventHandle
	Engine *engine.Engine
	// MadeAt is on the clock of track.
	MadeAt time.Duration
}

// EachEvent visits the events of all devices until visit returns false.
func (f *Factory) EachEvent(visit func(EventInfo) bool) {
	f.events.Each(func(id uint64, e *event) bool {
		return visit(EventInfo{Handle: EventHandle(id), Engine: e.owner.engine, MadeAt: e.madeAt})
	})
}
