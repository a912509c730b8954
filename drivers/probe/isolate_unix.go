//go:build darwin || freebsd || linux

package probe

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// answerFile is the number to which the file descriptor of the answer is moved. No library
// expects a file at that number.
const answerFile = 200

// No code here may start Go's network poller, which files of package os and timers do: if a
// driver closed the poller's file, the runtime would end the process with its own message.

// isolate prepares the process for a driver that may break it, and ends the process after
// the limit. It returns the file descriptor of the answer. Programs that the driver starts
// do not inherit the descriptor.
func isolate(limit time.Duration) (int, error) {
	if inherited(device.ProbeFile) {
		closeInherited(device.ProbeFile + 1)
	} else {
		return -1, errors.New("there is no file for the reply")
	}
	fd, err := unix.FcntlInt(device.ProbeFile, unix.F_DUPFD_CLOEXEC, answerFile)
	if err != nil {
		return -1, err
	}
	if err := unix.Close(device.ProbeFile); err != nil {
		return -1, err
	}
	// A driver that crashes leaves a line in a report, but no core file.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	dl.DefaultSignals(unix.SIGABRT, unix.SIGALRM, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGSEGV, unix.SIGTRAP, unix.SIGSYS)
	// The process that started this one may have ended already.
	return fd, endAfter(limit)
}

// inherited states whether the process inherited a file descriptor. Descriptors that this
// process opened are marked close-on-exec.
func inherited(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}

// closeInherited closes the files that the parent process passed to its children by
// mistake, for example sockets that a hanging driver would keep open.
func closeInherited(from int) {
	bound := openMax()
	for fd := from; fd < bound; fd++ {
		if inherited(fd) {
			_ = unix.Close(fd)
		}
	}
}

// openMax bounds the numbers of file descriptors. It is limited, so that a limit of
// millions does not cost one call for each number.
func openMax() int {
	const enough = 1 << 16
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return enough
	}
	return int(min(uint64(limit.Cur), enough))
}

// reply writes the whole answer.
func reply(fd int, line []byte) error {
	for len(line) > 0 {
		n, err := unix.Write(fd, line)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		line = line[max(n, 0):]
	}
	return nil
}
