//go:build !darwin && !windows

package native

// MemTotal is 0, unknown, on systems that either have /proc or are not asked in their
// own way yet; there, a size has to be given.
func MemTotal() uint64 { return 0 }

// MemAvailable is not known here but through /proc.
func MemAvailable() (uint64, bool) { return 0, false }

// Processor is not known here but through /proc.
func Processor() string { return "" }
