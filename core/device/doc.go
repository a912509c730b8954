// Package device is the driver interface: the interfaces that each driver implements, the
// identity of a device ("cpu:0"), addresses, and the one typed error of the product.
//
// It owns no memory and no state except the hook for panics of workers. It never imports
// another package of core, never names a vendor and never uses unsafe. An address is a
// number here, because device memory is not Go memory.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// worker.go, system_pressure.go, fact.go, codes_gen.go, id.go, device.go, error.go,
// virtual.go, thread.go, file_limit_linux.go, survey.go, survey_wire.go, registered.go,
// capture.go, read_memory.go, sharing.go, timed.go, ordered.go, mark_end.go, host_work.go, pinned.go,
// foreign.go, compiler.go, managed.go, size.go.
package device
