//go:build darwin || freebsd || linux

package dl

import (
	"syscall"

	"github.com/ebitengine/purego"
)

// DefaultSignals lets these signals end the process as in a C program, so that the parent
// process sees which signal it was. The handlers of the Go runtime would print a trace and
// exit.
func DefaultSignals(signals ...syscall.Signal) {
	set, err := purego.Dlsym(purego.RTLD_DEFAULT, "signal")
	if err != nil {
		return
	}
	for _, one := range signals {
		// SIG_DFL is 0.
		purego.SyscallN(set, uintptr(one), 0)
	}
}
