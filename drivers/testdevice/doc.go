// Package testdevice opens the device that the suites of core run on: the host, or the
// device that FERRUM_TEST_DEVICE names ("cuda:0"). So the same suite runs on the host, on
// a simulated driver, and on a real device. Only tests link it.
//
// It owns the choice of the device, the list of tests that other devices than the host
// skip, and the way in which a test reads bytes that the process cannot address. It knows
// about the simulated driver only how to query what was left behind.
//
// Lock order: the package has one lock, for the list of skipped tests.
//
// # Files in reading order
//
// open.go, simulator.go, main.go, bytes.go.
package testdevice
