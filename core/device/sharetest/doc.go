// Package sharetest has the conformance suites of the capabilities by which a device
// and others use one memory or one queue: device.PinnedHost, device.Adopter,
// device.Linker and device.StreamAdopter, and of device.SystemPressured. A driver with one
// of these capabilities must pass its suite. The suite tests successful calls, the exact
// code of each error, the state after a failed call, and the close of the device.
//
// The suites read and write memory only by copies. They free what they allocate, and close
// the devices that they receive. They are linked into tests only.
//
// Lock order: the package has no locks of its own.
//
// # Files in reading order
//
// bytes.go, adopted.go, linked.go, system_pressure.go, pinned.go, stream.go.
package sharetest
