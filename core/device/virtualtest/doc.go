// Package virtualtest is the conformance suite of device.VirtualMemory: a driver
// is done when Run passes on its device.
//
// It holds the calls of a device against a naive model, which knows for each
// small piece of address space which page is there and for each page what was
// written to it: random programs with right and wrong calls, the exact code of
// each refusal, and the bytes. It owns what it makes and leaves the device as it
// was. It is linked into tests only.
//
// Lock order: the package has no locks and starts no goroutine.
//
// # Files in reading order
//
// model.go, program.go, work.go, export.go, suite.go.
package virtualtest
