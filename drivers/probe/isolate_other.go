//go:build !darwin && !freebsd && !linux

package probe

import (
	"errors"
	"os"
)

// isolate fails: no process is started to ask on this system.
func isolate() (*os.File, error) { return nil, errors.New("not supported on this system") }
