// Package mapping has the calls of the system that the host backend uses: memory and
// address space of this process, files of memory, and how much of it is resident. The
// calls are values, so that tests can replace one by a call that fails.
//
// It keeps no state and has no locks: the caller knows what is mapped where. A capability
// that the system lacks is nil (VirtualCalls, which only Linux has) or has no effect
// (advice).
//
// # Files in reading order
//
// address.go, virtual.go, errno.go, resident_linux.go, calls_linux.go, virtual_linux.go,
// calls.go.
package mapping
