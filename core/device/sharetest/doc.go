// Package sharetest has the conformance suites of the capabilities by which a device
// and others use one memory or one queue: device.PinnedHost, device.Adopter,
// device.Linker and device.StreamAdopter, and of device.SystemPressured. A driver that
// has one of them is done when its suite passes: what works, the exact code of each
// refusal, what a call that fails leaves, and the end of the device.
//
// The suites look at memory by copies only, own what they make and close the devices
// that they are given. They are linked into tests only.
//
// Lock order: the package has no locks of its own.
//
// # Files in reading order
//
// bytes.go, adopted.go, linked.go, system_pressure.go, pinned.go, stream.go.
package sharetest
