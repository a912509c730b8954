// Package mapping is what the host backend asks of the system: memory and address space
// of this process, files of memory, and how much of them is really there. The calls are
// values, so that tests put in one that fails.
//
// It keeps no books and has no locks: who calls knows what is mapped where. What a system
// lacks is nil (VirtualCalls, which only Linux has) or does nothing (advice).
//
// # Files in reading order
//
// address.go, virtual.go, errno.go, resident_linux.go, calls_linux.go, virtual_linux.go,
// calls.go, windows.go.
package mapping
