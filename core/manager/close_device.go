package manager

import (
	"errors"
	"maps"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// Leftovers counts the objects that a factory has created on a device and that still
// exist. The default stream does not count as a stream.
type Leftovers struct {
	Managers, Streams, Events int
}

// Any reports whether anything is left.
func (l Leftovers) Any() bool { return l != Leftovers{} }

// leftoversLocked returns what is left on the device. The caller holds d.mu.
func (d *openDevice) leftoversLocked() Leftovers {
	return Leftovers{Managers: d.managers, Streams: d.streams, Events: d.events}
}

// Leftovers returns what is left on a device.
func (f *Factory) Leftovers(e *engine.Engine) Leftovers {
	f.mu.Lock()
	d := f.devices[e]
	f.mu.Unlock()
	if d == nil {
		return Leftovers{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.leftoversLocked()
}

// SealDevice prevents new objects on a device until CloseDevice is called, which then
// does not fail with CodeBusy. SealDevice returns CodeBusy, and changes nothing, while
// a manager, stream or event exists or is being created. It does not wait.
func (f *Factory) SealDevice(e *engine.Engine) error {
	d := f.deviceOf(e)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return d.closingTwice()
	}
	if left := d.leftoversLocked(); left.Any() {
		return d.inUse(left)
	}
	d.closing, d.sealed = true, true
	return nil
}

// CloseDevice destroys everything that the factory has created on a device, so that the
// device can be closed, and returns what existed. Without force it returns CodeBusy,
// and changes nothing, while a manager, stream or event exists. With force it waits for
// their work and destroys them. The handle of the default stream becomes invalid. If it
// fails with force, what was not destroyed can still be used.
func (f *Factory) CloseDevice(e *engine.Engine, force bool) (Leftovers, error) {
	d := f.deviceOf(e)
	left, err := d.beginClose(force)
	if err != nil {
		return left, err
	}
	if force {
		err = f.destroyAll(d)
	}
	if err == nil {
		err = f.awaitUnlinks(d)
	}
	if err == nil {
		err = f.dropDefaults(d)
	}
	if err != nil {
		d.mu.Lock()
		d.closing = false
		d.mu.Unlock()
		return left, err
	}
	f.settle()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.devices, e)
	return left, nil
}

// settle makes blocks and pools of all devices release completed operations and events,
// so that no event is queried after its device was closed. It checks blocks before
// pools, because a block that is being freed is in its pool by then.
func (f *Factory) settle() {
	f.memory.Each(func(_ uint64, b *block) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.prune()
		return true
	})
	f.mu.Lock()
	devices := slices.Collect(maps.Values(f.devices))
	f.mu.Unlock()
	for _, d := range devices {
		if err := d.closeLeft(); err != nil {
			d.engine.Log(engine.Warning, "events that could not be closed: "+err.Error())
		}
		for _, m := range d.listManagers() {
			for _, p := range m.Pools() {
				p.CompleteFrees()
			}
		}
	}
}

func (d *openDevice) beginClose(force bool) (Leftovers, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing && !d.sealed {
		return Leftovers{}, d.closingTwice()
	}
	left := d.leftoversLocked()
	if left.Any() && !force {
		return left, d.inUse(left)
	}
	d.closing, d.sealed = true, false
	for d.making > 0 {
		d.quiet.Wait()
	}
	return d.leftoversLocked(), nil
}

func (d *openDevice) closingTwice() error {
	return device.Errorf(device.CodeInvalidState, "device.close",
		"another call is closing the device").On(d.engine.ID())
}

func (d *openDevice) inUse(left Leftovers) error {
	return device.Errorf(device.CodeBusy, "device.close",
		"%s, %s and %s still exist", device.Count(left.Managers, "manager"),
		device.Count(left.Streams, "stream"), device.Count(left.Events, "event")).On(d.engine.ID())
}

// destroyAll destroys managers, then streams, which waits for their work, and then
// events. An object that another thread has destroyed is not an error.
func (f *Factory) destroyAll(d *openDevice) error {
	var failures []error
	note := func(err error) {
		if err != nil && !errors.Is(err, device.CodeInvalidHandle) {
			failures = append(failures, err)
		}
	}
	for _, m := range d.listManagers() {
		note(m.Close(true))
	}
	f.EachStream(func(s StreamInfo) bool {
		if s.Engine == d.engine && !s.IsDefault {
			note(f.DestroyStream(s.Handle, true))
		}
		return true
	})
	f.EachEvent(func(e EventInfo) bool {
		if e.Engine == d.engine {
			note(f.DestroyEvent(e.Handle))
		}
		return true
	})
	return errors.Join(failures...)
}

// dropDefaults ends the objects that the caller did not create. Work in the default
// stream may use blocks of other devices, so it waits for that work.
func (f *Factory) dropDefaults(d *openDevice) error {
	d.mu.Lock()
	s := d.defaultStream
	d.mu.Unlock()
	if s != nil {
		if err := s.runDry(); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bounce != nil {
		if err := d.bounce.Close(); err != nil {
			return err
		}
		d.bounce = nil
	}
	if s == nil {
		return nil
	}
	if _, err := f.streams.Remove(uint64(s.handle)); err != nil {
		return err
	}
	d.defaultStream = nil
	return nil
}

// listManagers copies the list of the device's managers.
func (d *openDevice) listManagers() []*Manager {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.built.Copy()
}
