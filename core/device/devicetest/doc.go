// Package devicetest is a simulated device for tests. It implements the driver interface over
// numbers, and the test controls every failure and every completion. It is not a backend and
// is linked into tests only.
//
// Segments and pages are numbers, or real bytes if Config.Backed is set. Virtual memory
// enforces every rule of device.VirtualMemory, and knows the ranges that queued work uses.
// Config.PinnedBytes enables page-locked memory. Adopted ranges have bytes of their own;
// linked ranges have the bytes of the other device. Any driver call can be made to fail
// (Device.FailNth). Streams run their work at once, or hold it until the test steps them
// (Config.Manual, Stream.Hold). The test sets how much memory other processes use. Time on the
// device is a count that its work advances: one nanosecond for each byte copied or filled, and
// one for each other operation.
//
// Host functions run on the goroutine that makes the stream advance, with no
// lock held.
//
// Lock order: one mutex per Driver guards its devices, streams and events. It
// is not held while a host function runs.
//
// # Files in reading order
//
// faults.go, state.go, norace.go, one_thread.go, capture.go, virtual.go, virtual_map.go, keep.go,
// memory.go, visible.go, sharing.go, device.go, kinds.go, event.go, stream.go, driver.go.
package devicetest
