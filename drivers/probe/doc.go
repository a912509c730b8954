// Package probe runs inside the process that queries the library of a vendor for its
// devices.
//
// It owns that process: the file for the result, the handling of its signals, and the time
// after which the process ends itself. It never opens a device.
//
// Lock order: the package has no locks.
package probe
