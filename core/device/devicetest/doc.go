// Package devicetest is a device for tests: the driver seam over numbers, with
// every failure and every completion in the test's hand. It is no backend and
// is linked into tests only.
//
// Segments and pages are numbers, or real bytes if Config.Backed says so. Virtual
// memory holds every rule of device.VirtualMemory, and knows the ranges that
// queued work uses. Page-locked memory is there with Config.PinnedBytes; adopted
// ranges have bytes of their own, linked ones those of the other device. Any driver call can be made to fail (Device.FailNth). Streams
// run their work at once, or hold it until the test steps them (Config.Manual,
// Stream.Hold). The memory that others use is what the test says. Time on the
// device is a count that its work advances: one nanosecond for each byte copied
// or filled, and one for each other piece of work.
//
// Host functions run on the goroutine that makes the stream advance, with no
// lock held.
//
// Lock order: one mutex per Driver guards its devices, streams and events. It
// is not held while a host function runs.
//
// # Files in reading order
//
// faults.go, state.go, norace.go, one_thread.go, capture.go, virtual.go, virtual_map.go,
// memory.go, visible.go, sharing.go, device.go, kinds.go, event.go, stream.go, driver.go.
package devicetest
