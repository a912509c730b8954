// Package pressure says how full a device is: a level from Low to Critical,
// decided in integers, and the hysteresis that keeps a level from flapping. Beside
// it stands how hard the system itself is pressed for memory, as a level of the
// same kind.
//
// It owns the bounds (the two profiles, each bound inclusive, and those of the
// system's stalls) and nothing else: no state of a device, no callback, no
// goroutine. Floating point comes in once, where a caller brings a ratio that is
// a floating-point number already (Profile.FromUtilization).
//
// Lock order: the package has no locks.
package pressure
