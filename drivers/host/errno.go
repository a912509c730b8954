//go:build unix

package host

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// untilNotInterrupted makes a call of the system again while a signal came in between.
func untilNotInterrupted(call func() (int, error)) (int, error) {
	for {
		result, err := call()
		if err != unix.EINTR {
			return result, err
		}
	}
}

// errnoOf is the system's number of an error, or 0.
func errnoOf(err error) syscall.Errno {
	var number syscall.Errno
	errors.As(err, &number)
	return number
}
