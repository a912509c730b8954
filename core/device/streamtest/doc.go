// Package streamtest is the conformance suite for segments, streams and events of any
// device. It runs random programs on several streams of several devices and compares them
// with a reference model that runs one operation after the other. It also tests what a
// device must reject. It reads memory by copies only. Only tests link it.
//
// Lock order: the package has no locks.
package streamtest
