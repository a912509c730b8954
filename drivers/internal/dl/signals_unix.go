//go:build darwin || freebsd || linux

package dl

import (
	"syscall"

	"github.com/ebitengine/purego"
)

// DefaultSignals lets those signals end the process as they end a program in C, so
// that whoever waits for it sees which it was. The handlers of the Go runtime would
// print a trace and exit.
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
