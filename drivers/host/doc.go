// Package host is the embedded CPU backend: devices "cpu:0", "cpu:1", ... whose
// memory is anonymous memory of this process and whose streams are ordered
// queues with a worker each. It is a complete backend and the reference for the
// others.
//
// It owns the segments that it maps, the address space that it reserves and the
// pages in it, the workers of its streams, and the capacity: what the process may
// really use (the machine's memory or the limit of a control group above the
// process, whichever is less) or an explicit size, shared equally by the devices.
// Two opens of one device share its capacity, but not their segments, pages and
// streams.
//
// It never writes to memory that is not a live segment or page of the device, apart
// from memory of others that it was told of (Adopt, Link) and from the host ranges
// that its callers name; those it cannot check, or only once, and a wrong one ends
// the process, as in any memmove. It keeps no metadata in the memory
// that it hands out, starts no thread before a stream has work, and never wakes
// up while its streams are idle.
//
// Queued work holds a reference on the segments and pages that it touches, so one
// with work in flight cannot be freed or unmapped under it.
//
// A process forked off sees private memory as it was then, and nothing of movable
// pages (unless it is forked off by another thread while SetAccess is at work).
//
// A stream of somebody else's that was adopted has the same queue and no worker:
// its owner calls for each operation to be run.
//
// What it is made of has packages of its own, which know no device: gate (whether it is
// open, and what keeps it so), mapping (what is asked of the system), segments (with memory
// of others), virtual (address space and pages), streams.
//
// Lock order: the locks of streams, then those of virtual or segments, then the gate's,
// which is a leaf; a device has no lock of its own. No lock is held while the system is
// called to map or unmap memory, while bytes are moved, or while a host function or the
// owner of an adopted stream is called.
//
// # Files in reading order
//
// size.go, cgroup.go, reading.go, system.go, config.go, driver.go, capacity.go, limits.go,
// read_memory.go, device.go, use.go, prefetch.go, peer.go, visible.go, system_pressure.go,
// adopt.go.
package host
