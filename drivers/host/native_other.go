//go:build !darwin

package host

// nativeMemTotal is 0, unknown, on systems that either have /proc or are not
// asked in their own way yet; there, a size has to be given.
func nativeMemTotal() uint64 { return 0 }

func nativeProcessorName() string { return "" }
