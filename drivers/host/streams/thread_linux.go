package streams

import "golang.org/x/sys/unix"

// threadID returns the system's number of the calling thread.
func threadID() int64 { return int64(unix.Gettid()) }
