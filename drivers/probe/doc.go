// Package probe is the inside of the process in which the library of a vendor is asked
// for its devices.
//
// It owns that process: the file of the answer, the dispositions of its signals, and
// the time after which it ends itself. It never opens a device.
//
// Lock order: the package has no locks.
package probe
