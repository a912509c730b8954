// Package pressure computes pressure levels: how full a device is, from Low to Critical,
// with integers, and with the hysteresis that keeps a level from changing back and forth.
// It also computes a level of the same kind from the memory pressure that the system
// reports.
//
// It owns the bounds: the two profiles, whose bounds belong to the higher level, and the
// bounds of the system's stalls. It has no state of a device, no callback and no
// goroutine. It uses floating point only where the caller passes a ratio as a
// floating-point number (Profile.FromUtilization).
//
// Lock order: the package has no locks.
package pressure
