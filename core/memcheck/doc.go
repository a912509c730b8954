// Package memcheck is the debug mode of pools: what finds overruns, writes
// after a free, double frees and foreign addresses, and names the places in the
// program that they came from.
//
// It owns, for each pool that debugs, a record of every block with the place of
// its allocation and of its free, the zones around blocks, the poison in them,
// the quarantine of freed blocks, and a short memory of those that left it. It
// writes and reads memory only through device.HostVisible; on a device without
// that, zones and poison are left out. It never takes or gives back memory, and
// never decides what a call of the pool does: the pool asks and acts.
//
// # Lock order
//
// A Checker has no lock: its methods are called with the lock of its pool held,
// unless their comments say otherwise. Reports are made under that lock and told
// after it, since naming a place asks the dynamic linker, which may at that
// moment wait for a library that waits for the pool.
//
// # Files in reading order
//
// call_site.go, history.go, flags.go, record.go, zone.go, quarantine.go, report.go,
// checker.go, damage.go, blocks.go.
package memcheck
