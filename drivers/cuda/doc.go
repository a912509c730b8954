// Package cuda is the driver for NVIDIA's devices: device.Driver and the capabilities
// of an open device over libcuda, which is loaded when the driver is first asked for
// something, without the toolkit and without C code of its own.
//
// It owns the retained primary contexts of the devices that are open, the streams and
// events that it made, and the books of what was allocated, reserved, created and
// mapped. Every range that work is queued on is held against the books first: on a
// device a wrong address spoils the context for the whole process.
//
// The context that is current on the caller's thread is the same after every call as
// before it, and so is the thread's mode for calls while a stream captures, which is
// relaxed inside of all calls that a capture may forbid. An error that the device does not recover from marks it as lost:
// then every call fails with device.CodeDeviceLost, except those that give something
// back, which succeed so that the device can be closed.
//
// It never ends a stream or memory that somebody else made and that was adopted, and never
// makes the device wait where the caller did not ask for that. It has one kernel of its own,
// which looks through memory for debug mode: kernels/NAME.cu is the source, kernels/NAME.ptx
// what the driver gets, written by scripts/kernels.py.
//
// What differs between versions of the driver's interface is data: symbols.go says which
// function is there since which version, layout.go and errors.go hold the numbers and
// structs, each with its name in the vendor's header.
//
// What needs no call of the driver has packages of its own below drivers/internal/gpu, which
// other runtimes built like this one can use: the books of virtual memory (virtual), what a
// device may use by address (ranges), spare events (events) and the functions that streams
// will run (hostcalls).
//
// Lock order: looker.mu, module.using or orderedPool.mu, then event.using (of two events
// in the order of their numbers), virtualMemory.opening or, after the former, stream.using;
// then driverContext.gate; then, each alone, openDevice.mu, deviceEvents.mu, stream.mu and
// the locks of those packages. The first of these are held over calls of the driver, so that
// a handle is not destroyed while it is in use, and no page is mapped while another device is
// let in.
//
// # Files in reading order
//
// groups.go, memory_symbols.go, layout.go, descriptor_linux.go, sharing_symbols.go,
// symbols.go, errors.go, context.go, device.go, ranges.go, wait.go, driver.go, memory.go, capture.go,
// thread_linux.go, ptx.go, identity.go, stream.go, enqueue.go, kernel.go, module.go,
// host_function.go, visible.go, peer.go, event.go, context_caller.go, virtual.go,
// virtual_access.go, virtual_pages.go, virtual_map.go, event_spare.go, foreign.go, ipc.go,
// registered.go, ordered.go, managed.go, link.go, export.go.
package cuda
