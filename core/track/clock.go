package track

import "time"

var started = time.Now()

// Now returns the monotonic time since the process loaded this package. The age of a
// block is the difference of two such times.
func Now() time.Duration { return time.Since(started) }
