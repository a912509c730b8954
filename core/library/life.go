package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
)

// owned is an object on a device that its caller creates and destroys.
type owned interface {
	member
	holder
	base() *object
	// close releases its memory. Without force it returns CodeBusy while a part of it
	// is live.
	close(force bool) error
}

// dropper has further work when its handle is removed.
type dropper interface{ dropped(l *Library) }

// insert assigns a handle to an object.
func insert[T interface{ base() *object }](l *Library, table *handle.Table[T], value T) (uint64, error) {
	o := value.base()
	o.library, o.createdAt = l, time.Now()
	id, err := table.Insert(value)
	if err == nil {
		o.handle.Store(id)
	}
	return id, err
}

// create creates an object on a device. made is called while the device cannot be
// closed; nil: no call.
func create[T owned](
	l *Library, table *handle.Table[T], op string, deviceID uint64, build func(*Device) (T, error), made func(id uint64, object T),
) (uint64, error) {
	d, err := l.making(op, deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.exit()
	object, err := build(d)
	if err != nil {
		return 0, on(err, d.Engine)
	}
	id, err := insert(l, table, object)
	if err != nil {
		if closeErr := object.close(true); closeErr != nil {
			l.log.printf(LogError, "%v: closing an object without a handle: %v", d.Engine.ID(), closeErr)
		}
		return 0, on(err, d.Engine)
	}
	made(id, object)
	return id, nil
}

// destroy destroys an object. With force it reports what was live in it. It returns
// CodeBusy while another call destroys the object.
func destroy[T owned](table *handle.Table[T], op string, object T, force bool) error {
	o := object.base()
	l, id := o.library, o.id()
	word := handle.KindOf(id).String()
	if !o.destroying.TryLock() {
		return on(device.Errorf(device.CodeBusy, op, "%s handle %#x: another call is destroying the %s", word, id, word), engineOf(object))
	}
	defer o.destroying.Unlock()
	if held := holderOf(object); held != nil {
		if err := held.vacate(op, "", force); err != nil {
			return l.log.orLog(on(err, engineOf(object)), force, id)
		}
	}
	leaks := newLeakReport()
	if force {
		object.addMemory(l, &leaks)
	}
	if err := drop(table, id, object, force); err != nil {
		return l.log.orLog(err, force, id)
	}
	l.log.logLeaks("forced destroy of a "+word, leaks)
	return nil
}

// dropByForce destroys an object by force. It first waits for another call that
// destroys it.
func dropByForce[T owned](table *handle.Table[T], id uint64, object T) error {
	o := object.base()
	o.destroying.Lock()
	defer o.destroying.Unlock()
	return drop(table, id, object, true)
}

// drop closes an object and removes its handle. The caller holds object.destroying.
func drop[T owned](table *handle.Table[T], id uint64, object T, force bool) error {
	if _, err := table.Get(id); err != nil {
		return err
	}
	if err := object.close(force); err != nil {
		return on(err, engineOf(object))
	}
	_, err := table.Remove(id)
	if d, is := any(object).(dropper); is {
		d.dropped(object.base().library)
	}
	return err
}
