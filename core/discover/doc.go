// Package discover finds the backends of this build: which of them can be used here, the
// reason if one cannot, and its devices with their memory. It also finds a device with
// enough memory, and opens a device by its id.
//
// It owns the list of drivers from its caller, the result of the last discovery, and the
// short-lived processes that query vendor libraries. A driver that crashes or hangs ends
// such a process, and not this one. The package never imports a driver, loads a vendor's
// library in this process only on request, and keeps no device open.
//
// A process may hang inside the kernel and cannot be killed then. The package leaves it
// behind, with one goroutine that reads its exit status; the caller gets its result in
// time.
//
// Lock order: Registry.discovering, then Registry.mu. The first is held while libraries
// are queried, the second never.
//
// # Files in reading order
//
// group_unix.go, kind.go, backends_gen.go, choose.go, isolation.go, child.go, found.go,
// registry.go, naming.go, summary.go.
package discover
