//go:build darwin || freebsd || linux

package probe

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

// isolate makes the process one that a driver may break, and gives the file of the
// answer. It lies where no library expects a file, and programs that the driver
// starts do not have it.
func isolate() (*os.File, error) {
	closeForeign()
	const high = 200
	fd, err := unix.FcntlInt(device.ProbeFile, unix.F_DUPFD_CLOEXEC, high)
	if err != nil {
		return nil, err
	}
	if err := unix.Close(device.ProbeFile); err != nil {
		return nil, err
	}
	// A driver that crashes is worth a line in a report, not a file.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	dl.DefaultSignals(unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGSEGV, unix.SIGTRAP, unix.SIGSYS)
	return os.NewFile(uintptr(fd), "answer"), nil
}

// closeForeign closes what the program that started this one has left open for its
// children by mistake: sockets that a driver which hangs would keep open. What this
// process has opened itself is marked to be closed when it starts another program.
func closeForeign() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd <= device.ProbeFile {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}
