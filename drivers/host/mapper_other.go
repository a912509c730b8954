//go:build unix && !linux

package host

// mapNoReserve is nothing where untouched anonymous memory is not accounted, or
// where there is no such flag.
const mapNoReserve = 0

// adviseHuge does nothing where the system has no such advice.
func adviseHuge([]byte) {}
