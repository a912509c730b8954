//go:build darwin || freebsd || linux

package probe

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

// answerFile is where the file of the answer is moved to: no library expects one there.
const answerFile = 200

// Nothing here may start Go's network poller, as files of package os and timers do: it
// would end the process with a message of its own if a driver closed its file.

// isolate makes the process one that a driver may break and that ends after the limit,
// and gives the file descriptor of the answer. Programs that the driver starts do not
// have it.
func isolate(limit time.Duration) (int, error) {
	if inherited(device.ProbeFile) {
		closeInherited(device.ProbeFile + 1)
	} else {
		return -1, errors.New("there is no file for the answer")
	}
	fd, err := unix.FcntlInt(device.ProbeFile, unix.F_DUPFD_CLOEXEC, answerFile)
	if err != nil {
		return -1, err
	}
	if err := unix.Close(device.ProbeFile); err != nil {
		return -1, err
	}
	// A driver that crashes is worth a line in a report, not a file.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	dl.DefaultSignals(unix.SIGABRT, unix.SIGALRM, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGSEGV, unix.SIGTRAP, unix.SIGSYS)
	// Whoever asked may be gone by then.
	return fd, endAfter(limit)
}

// inherited says that a file came with the process. What this process has opened itself
// is marked to be closed when it starts another program.
func inherited(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}

// closeInherited closes what the program that started this one has left open for its
// children by mistake: sockets that a driver which hangs would keep open.
func closeInherited(from int) {
	bound := openMax()
	for fd := from; fd < bound; fd++ {
		if inherited(fd) {
			_ = unix.Close(fd)
		}
	}
}

// openMax bounds the numbers of files. Hosts with a bound of millions are not gone
// through to the end.
func openMax() int {
	const enough = 1 << 16
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return enough
	}
	return int(min(uint64(limit.Cur), enough))
}

// reply writes all of the answer.
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
