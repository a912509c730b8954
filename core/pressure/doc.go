// Package pressure says how full a device is: a level from Low to Critical,
// decided in integers, and the hysteresis that keeps a level from flapping.
//
// It owns the bounds (70, 85 and 95 %, each inclusive) and nothing else: no
// state of a device, no callback, no goroutine. It never uses floating point.
//
// Lock order: the package has no locks.
package pressure
