// Package cuda is the driver for NVIDIA devices: device.Driver and the capabilities of an
// open device, by calls of libcuda. It loads libcuda on first use, without the toolkit and
// without C code of its own.
//
// It owns the retained primary contexts of the open devices, the streams and events that
// it created, and the lists of what was allocated, reserved, created and mapped. It checks
// every range of queued work against these lists first, because a wrong address on a
// device breaks the context for the whole process.
//
// After every call the current context of the caller's thread is the same as before, and
// so is the thread's capture mode. Calls that a capture may forbid run in relaxed mode. An
// error that the device does not recover from marks the device as lost. Then every call
// fails with device.CodeDeviceLost, except for calls that release something, which succeed
// so that the device can be closed.
//
// The package never destroys an adopted stream or frees adopted memory, and never makes
// the device wait unless the caller requests it. It has one kernel of its own, which
// searches memory for debug mode: kernels/NAME.cu is the source, and scripts/kernels.py
// compiles it to kernels/NAME.ptx for the driver.
//
// The differences between versions of the vendor's interface are data: symbols.go states
// since which version each function exists; layout.go and errors.go have the numbers and
// structs, each with its name in the vendor's header.
//
// What needs no call of the vendor driver is in packages below drivers/internal/gpu, which
// other similar runtimes can use: the state of virtual memory (virtual), the ranges that a
// device may use by address (ranges), ordinary memory that is page-locked (hostpages), spare
// events (events) and the host functions of streams (hostcalls).
//
// Lock order: searcher.mu, module.using or orderedPool.mu, then event.using (of two events
// in the order of their numbers), virtualMemory.opening or, after the former,
// stream.using; then driverContext.gate; then owedCalls.mu or, each alone, openDevice.mu,
// deviceEvents.mu, stream.mu and the locks of those packages. The first of these and
// owedCalls.mu are held during calls of the vendor driver, so that a handle is not destroyed
// while it is in use, and no page is mapped while another device gets access.
//
// # Files in reading order
//
// groups.go, memory_symbols.go, layout.go, descriptor_linux.go, sharing_symbols.go,
// symbols.go, errors.go, context.go, owed.go, device.go, ranges.go, wait.go, driver.go,
// memory.go, pinned.go, capture.go, thread_linux.go, ptx.go, identity.go, stream.go,
// enqueue.go, kernel.go, module.go, host_function.go, visible.go, peer.go, event.go,
// context_caller.go, virtual.go, virtual_access.go, virtual_pages.go, virtual_map.go,
// event_spare.go, foreign.go, ipc.go, registered.go, ordered.go, managed.go, link.go,
// export.go.
package cuda
