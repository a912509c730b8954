//go:build !linux

package cudaprobe

import "os"

// hasMoreRights says whether the process acts for another user than the one who
// started it.
func hasMoreRights() bool { return os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() }
