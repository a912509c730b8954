//go:build unix

package hostmemory

import (
	"slices"

	"golang.org/x/sys/unix"
)

// MaxReadingBytes is the maximum number of bytes that are read of one file below /proc or
// /sys. The longest file, mountinfo, has a few hundred bytes for each mount.
const MaxReadingBytes = 4 << 20

// readReading reads a file of the kernel and stops after that many bytes. Package os would take twice
// as long, and every reading of free memory needs several files.
func readReading(path string, bytes int) ([]byte, error) {
	fd, err := untilNotInterrupted(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	content := make([]byte, 0, 2048)
	for len(content) < bytes {
		content = slices.Grow(content, 1)
		n, err := untilNotInterrupted(func() (int, error) { return unix.Read(fd, content[len(content):cap(content)]) })
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		content = content[:len(content)+n]
	}
	return content, nil
}

// untilNotInterrupted repeats a system call until no signal interrupts it.
func untilNotInterrupted(call func() (int, error)) (int, error) {
	for {
		result, err := call()
		if err != unix.EINTR {
			return result, err
		}
	}
}
