package cudaprobe

import (
	"encoding/binary"
	"os"
	"runtime"
	"strconv"
)

// EnvLibrary is the environment variable with the path of the driver's library.
const EnvLibrary = "FERRUM_CUDA_LIBRARY"

// libraryPath is what the variable says. A program with more rights than its user does
// not load what its user names.
func libraryPath() string {
	if hasMoreRights() {
		return ""
	}
	return os.Getenv(EnvLibrary)
}

// hasMoreRights is what the kernel says of the process: AT_SECURE. A process that may
// not read it has them.
func hasMoreRights() bool {
	if runtime.GOOS != "linux" {
		return os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid()
	}
	const atSecure = 23
	vector, err := os.ReadFile("/proc/self/auxv")
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
	for at := 0; at+2*word <= len(vector); at += 2 * word {
		if number(at) == atSecure {
			return number(at+word) != 0
		}
	}
	return true
}
