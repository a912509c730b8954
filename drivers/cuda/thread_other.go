//go:build !linux

package cuda

// threadID is 0: threads have no number here.
func threadID() int64 { return 0 }
