// Package device is the driver seam: the interfaces that a vendor runtime is
// hidden behind, the identity of a device ("cpu:0"), addresses, and the one
// typed error of the whole product.
//
// It owns no memory and no state but the hook that worker panics are reported
// to. It never imports another room, never names a vendor and never uses
// unsafe: an address is a number here, because device memory is not Go memory.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// worker.go, system_pressure.go, fact.go, codes_gen.go, id.go, device.go, error.go,
// virtual.go, thread.go, file_limit_linux.go, survey.go, survey_wire.go, registered.go,
// capture.go, read_memory.go, sharing.go, timed.go, ordered.go, mark_end.go, pinned.go,
// foreign.go, compiler.go, managed.go, size.go.
package device
