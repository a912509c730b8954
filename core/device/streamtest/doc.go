// Package streamtest is a suite that holds any device to what package device says of
// segments, streams and events: random programs on several streams of several devices
// against a model that does one operation after the other, and what is refused. It
// looks at memory by copies only. It is linked into tests only.
//
// Lock order: the package has no locks.
package streamtest
