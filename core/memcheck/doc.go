// Package memcheck is the debug mode of pools. It finds overruns, writes after a free,
// double frees and unknown addresses, and names the call sites in the program.
//
// For each pool in debug mode it owns a record of every block with the call sites of its
// allocation and its free, the red zones, the poison, the quarantine of freed blocks, and
// a short history of blocks that left the quarantine. It reads and writes memory only
// through device.HostVisible; a device without that has no zones and no poison. It never
// allocates or frees memory and never decides what a call of the pool does: the pool calls
// the package and acts on the result.
//
// # Lock order
//
// A Checker has no lock: its methods are called with the lock of its pool held, unless
// their comments state otherwise. Reports are created under that lock and sent after it.
// Naming a call site calls the dynamic linker, which may be waiting for a library that
// waits for the pool.
//
// # Files in reading order
//
// call_site.go, history.go, flags.go, record.go, zone.go, quarantine.go, report.go,
// checker.go, damage.go, blocks.go.
package memcheck
