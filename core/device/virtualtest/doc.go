// Package virtualtest is the conformance suite of device.VirtualMemory. A driver is
// complete when Run passes on its device.
//
// The suite compares the calls of a device with a reference model. The model knows the
// page at each small piece of address space, and the contents of each page. The suite
// tests random programs with valid and invalid calls, the exact code of each error, and
// the bytes. It owns what it creates and leaves the device as it was. Only tests link it.
//
// Lock order: the package has no locks and starts no goroutine.
//
// # Files in reading order
//
// model.go, program.go, work.go, export.go, suite.go.
package virtualtest
