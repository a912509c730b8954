// Package probe is the list of the backends whose libraries come from vendors, and
// the inside of the process in which one of them is asked.
//
// It owns that process: the file of the answer, the dispositions of its signals, and
// the time after which it ends itself. It never opens a device.
//
// Lock order: the package has no locks.
package probe
