//go:build !linux

package cuda

// threadID returns 0, because this system has no numbers for threads.
func threadID() int64 { return 0 }
