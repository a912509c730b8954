//go:build unix

package mapping

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// UntilNotInterrupted repeats a system call until no signal interrupts it.
func UntilNotInterrupted(call func() (int, error)) (int, error) {
	for {
		result, err := call()
		if err != unix.EINTR {
			return result, err
		}
	}
}

// Errno returns the system's number of an error, or 0.
func Errno(err error) syscall.Errno {
	var number syscall.Errno
	errors.As(err, &number)
	return number
}
