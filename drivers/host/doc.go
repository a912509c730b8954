// Package host is the embedded CPU backend: devices "cpu:0", "cpu:1", ... whose memory is
// anonymous memory of this process and whose streams are ordered queues with one worker
// each. It is a complete backend and the reference for the others.
//
// It owns the segments that it maps, the address space that it reserves and the pages in
// it, the workers of its streams, and the capacity. The capacity is the memory that the
// process may use (the machine's memory or the limit of a control group above the process,
// whichever is less) or an explicit size. The devices share it equally. Two opens of one
// device share its capacity, but not their segments, pages and streams.
//
// It writes only to live segments and pages of the device, to external memory that was
// registered (Adopt, Link), and to the host ranges of its callers. It cannot check host
// ranges, or only once, and a wrong one ends the process, as with memmove. It keeps no
// metadata in the memory that it allocates, starts no thread before a stream has work, and
// does not wake up while its streams are idle.
//
// Queued work holds a reference to the segments and pages that it uses, so that memory
// with work in flight cannot be freed or unmapped.
//
// A forked child has a copy of private memory as of the fork, and no movable pages (unless
// another thread forks while SetAccess runs).
//
// An adopted external stream has the same queue and no worker: its owner calls the library
// to run each operation.
//
// Its parts have packages of their own, which know no device: gate (whether the device is
// open, and what keeps it open), mapping (calls of the system), segments (with external
// memory), virtual (address space and pages), streams.
//
// Lock order: the locks of streams, then those of virtual or segments, then the gate's,
// which is a leaf; a device has no lock of its own. No lock is held during calls of the
// system that map or unmap memory, while bytes are copied, or while a host function or the
// owner of an adopted stream is called.
//
// # Files in reading order
//
// size.go, system.go, config.go, driver.go, capacity.go, limits.go, read_memory.go, device.go,
// use.go, prefetch.go, peer.go, visible.go, system_pressure.go, adopt.go.
package host
