// Package monitor watches the memory of many devices as one: the numbers of each device,
// one pressure level over all, and a callback for every change.
//
// It owns the list of registered managers, the levels of their devices, and the worker
// that queries the devices from time to time while a callback is set. It owns no manager:
// a registration does not keep a manager from being destroyed. A manager that is destroyed
// leaves the list before its Close returns. A call that works on a manager at that moment
// sees it as destroyed and skips it.
//
// # Levels
//
// The level of a device by bytes is that of its engine, with the monitor's profile and
// with hysteresis. If the device has device.SystemPressured, the pressure of the system
// gives a second level; the higher of the two counts. The level of all devices together is
// the highest of them. A device of unknown capacity is Low by bytes and is reported as
// unknown.
//
// # Lock order
//
// Monitor.changing (one change of the list or of the callback at a time), then the locks
// of managers and engines. Monitor.mu is a leaf except for the dispatcher's lock. A
// manager's Close calls this package with its own lock held; nothing here closes a
// manager. The callback runs on the monitor's dispatcher with none of these locks held,
// and a thread that waits for it holds none either.
//
// # Files in reading order
//
// monitor.go, deliver.go, look.go, callback.go, register.go, info.go.
package monitor
