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

// event is an event that has a handle.
type event struct {
	owner *openDevice
	dev   device.Event
	// madeAt is by the clock of track.
	madeAt time.Duration
	// users is the calls that are inside dev, and one for the handle. The last
	// one to leave closes dev, so that none is closed under a waiting call.
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

// release takes a user away; the last one closes the event, and stays when that
// fails.
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
		// Its handle is gone already.
		found.owner.closeEvents(found.dev)
	}
	if device.CodeOf(err) == device.CodeInvalidState && found.isDead() {
		// The device may have been closed under the call.
		return destroyed(op, handle.Event, uint64(h)).On(found.owner.engine.ID())
	}
	return err
}

func (e *event) isDead() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dead
}

// RecordEvent marks the present end of a stream's queue with a new event, which
// EventElapsed can measure.
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

// ShareEvent marks the present end of a stream's queue for other processes, too, which
// open the event by the handle. CodeUnsupported for a device that cannot.
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

// OpenEvent gives a handle to an event that another process shared.
func (s *StreamManager) OpenEvent(shared device.ProcessHandle) (EventHandle, error) {
	const op = "event.open"
	d := s.deviceOf(s.engine)
	sharer, err := d.sharer(op)
	if err != nil {
		return 0, err
	}
	return s.newEvent(op, d, func() (device.Event, error) { return sharer.OpenSharedEvent(shared) })
}

// AdoptEvent gives a handle to an event of the vendor's runtime that somebody else made
// and keeps until the handle is destroyed, which leaves the event alone. It stands for
// what its owner recorded last. Errors: those of device.EventAdopter; CodeUnsupported
// where the device lacks that.
func (s *StreamManager) AdoptEvent(native uint64) (EventHandle, error) {
	const op = "event.adopt"
	adopter, ok := s.engine.Device().(device.EventAdopter)
	if !ok {
		return 0, lacks(op, s.engine, "use events of others")
	}
	return s.newEvent(op, s.deviceOf(s.engine), func() (device.Event, error) { return adopter.AdoptEvent(native) })
}

// sharer is what a device shares with other processes by.
func (d *openDevice) sharer(op string) (device.ProcessSharer, error) {
	sharer, ok := d.engine.Device().(device.ProcessSharer)
	if !ok || !d.engine.Info().ProcessSharer {
		return nil, lacks(op, d.engine, "share with other processes")
	}
	return sharer, nil
}

// newEvent gives a handle to an event that open makes.
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

// WaitEvent makes all later work of the stream wait for the event, which may be
// another stream's or another device's of the same backend; CodeUnsupported for
// one of another backend.
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

// IsEventReady says without waiting whether the event's point has been passed.
func (f *Factory) IsEventReady(h EventHandle) (ready bool, err error) {
	err = f.use("event.is_ready", h, func(e *event) (err error) {
		ready, err = e.dev.Done()
		return err
	})
	return ready, err
}

// SynchronizeEvent waits until the event's point has been passed, at most
// timeout (device.Forever: no limit; 0 only asks; then CodeTimeout).
func (f *Factory) SynchronizeEvent(h EventHandle, timeout time.Duration) error {
	return f.use("event.synchronize", h, func(e *event) error { return e.dev.Synchronize(timeout) })
}

// EventElapsed is the time from start to end on their device's clock, negative
// when end was passed first. CodeInvalidState when one has not been passed,
// CodeInvalidArgument when they are of two devices.
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

// DestroyEvent forgets an event. Streams that wait for it still do, and so do
// calls that are waiting.
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

// EventInfo describes an event that has a handle.
type EventInfo struct {
	Handle EventHandle
	Engine *engine.Engine
	// MadeAt is by the clock of track.
	MadeAt time.Duration
}

// EachEvent visits the events of all devices until visit returns false.
func (f *Factory) EachEvent(visit func(EventInfo) bool) {
	f.events.Each(func(id uint64, e *event) bool {
		return visit(EventInfo{Handle: EventHandle(id), Engine: e.owner.engine, MadeAt: e.madeAt})
	})
}
