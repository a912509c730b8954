package dl

import (
	"encoding/binary"
	"strconv"
	"syscall"
)

// hasMoreRights returns AT_SECURE, the kernel's mark of a process with more rights than its
// user. It returns true if the process may not read that value. The file is read by system
// calls alone, because package os would start a poller, whose file a broken driver may
// close.
func hasMoreRights() bool {
	const atSecure = 23
	file, err := syscall.Open("/proc/self/auxv", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer func() { _ = syscall.Close(file) }()
	vector := make([]byte, 4096)
	size, err := syscall.Read(file, vector)
	if err != nil {
		return true
	}
	const word = strconv.IntSize / 8
	number := func(at int) uint64 {
		if word == 4 {
			return uint64(binary.NativeEndian.Uint32(vector[at:]))
		}
		return binary.NativeEndian.Uint64(vector[at:])
	}
	for at := 0; at+2*word <= size; at += 2 * word {
		if number(at) == atSecure {
			return number(at+word) != 0
		}
	}
	return true
}
