// Package monitor watches the memory of many devices as one: what each of them
// has, one level of pressure over all, and a callback that hears of every change.
//
// It owns the list of registered managers, the level of each of their devices and
// the worker that looks at devices from time to time while a callback is set. It
// never owns a manager: a registration is weak. It keeps no manager from being
// destroyed, and one that is destroyed leaves by itself before its Close returns.
// A call that is at work on a manager at that moment sees it as destroyed and
// passes it over.
//
// # Levels
//
// A device's level by bytes is that of its engine, by the profile of the monitor,
// with hysteresis. Where the device has device.SystemPressured, the system's own
// pressure makes a second level; the worse of the two counts. The level of all
// devices together is the worst of them. A device of unknown capacity is Low by
// bytes, and said to be unknown.
//
// # Lock order
//
// Monitor.changing (one change of the list or of the callback at a time), then the
// locks of managers and engines; Monitor.mu is a leaf but for the dispatcher's. A
// manager's Close comes here with its own lock: nothing here closes a manager. The
// callback runs on the monitor's dispatcher with none of them held, and whoever
// waits for it holds none either.
//
// # Files in reading order
//
// monitor.go, deliver.go, look.go, callback.go, register.go, info.go.
package monitor
