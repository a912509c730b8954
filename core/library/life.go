package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
)

// owned is an object on a device that its caller makes and ends.
type owned interface {
	member
	holder
	base() *object
	// close gives its memory back. While something of it is live it is CodeBusy, unless
	// forced.
	close(force bool) error
}

// dropper has more to take away with its handle.
type dropper interface{ dropped(l *Library) }

// insert gives an object its handle.
func insert[T interface{ base() *object }](l *Library, table *handle.Table[T], value T) (uint64, error) {
	o := value.base()
	o.library, o.createdAt = l, time.Now()
	id, err := table.Insert(value)
	if err == nil {
		o.handle.Store(id)
	}
	return id, err
}

// create makes an object on a device. made hears of it while the device is not closed;
// nil: nobody.
func create[T owned](
	l *Library, table *handle.Table[T], op string, deviceID uint64, build func(*Device) (T, error), made func(id uint64, object T),
) (uint64, error) {
	d, err := l.making(op, deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.leave()
	object, err := build(d)
	if err != nil {
		return 0, on(err, d.Engine)
	}
	id, err := insert(l, table, object)
	if err != nil {
		if closeErr := object.close(true); closeErr != nil {
			l.log.printf(LogError, "%v: closing an object that got no handle: %v", d.Engine.ID(), closeErr)
		}
		return 0, on(err, d.Engine)
	}
	made(id, object)
	return id, nil
}

// destroy ends an object. By force it reports what of it was live. It is CodeBusy while
// another call is at it.
func destroy[T owned](table *handle.Table[T], op string, object T, force bool) error {
	o := object.base()
	l, id := o.library, o.id()
	word := handle.KindOf(id).String()
	if !o.destroying.TryLock() {
		return on(device.Errorf(device.CodeBusy, op, "%s handle %#x: another call is destroying the %s", word, id, word), engineOf(object))
	}
	defer o.destroying.Unlock()
	leaks := newLeakReport()
	if force {
		object.addMemory(l, &leaks)
	}
	if err := drop(table, id, object, force); err != nil {
		return l.log.orLog(err, force, id)
	}
	l.log.logLeaks(word+" destroyed by force", leaks)
	return nil
}

// dropByForce ends an object by force, after another call that is at it.
func dropByForce[T owned](table *handle.Table[T], id uint64, object T) error {
	o := object.base()
	o.destroying.Lock()
	defer o.destroying.Unlock()
	return drop(table, id, object, true)
}

// drop closes an object and takes its handle away; object.destroying is held.
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
