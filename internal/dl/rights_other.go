//go:build !linux

package dl

import "os"

// hasMoreRights states whether the process acts for another user than the user that started
// it.
func hasMoreRights() bool { return os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() }
