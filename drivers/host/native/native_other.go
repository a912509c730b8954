//go:build !darwin && !windows

package native

// MemTotal returns 0, which means unknown. Such a system has /proc, or this package has no
// query for it, and then the size must be configured.
func MemTotal() uint64 { return 0 }

// MemAvailable is known only from /proc on this system.
func MemAvailable() (uint64, bool) { return 0, false }

// Processor is known only from /proc on this system.
func Processor() string { return "" }
