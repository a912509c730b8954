// Package testdevice opens the devices that suites of core run on: the host's memory,
// or what FERRUM_TEST_DEVICE names ("cuda:0"), so that one and the same suite is run on
// the host, over a simulated driver, and on a real device. It is linked into tests only.
//
// It owns the choice of the device, the list of tests that a device other than the host
// leaves out, and how a test looks at bytes that the process cannot address. It knows
// of the simulated driver only how to ask it what was left behind.
//
// Lock order: the package has one lock, for the list of what was left out.
//
// # Files in reading order
//
// open.go, simulator.go, main.go, bytes.go.
package testdevice
