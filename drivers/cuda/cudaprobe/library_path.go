package cudaprobe

import "os"

// EnvLibrary is the environment variable with the path of the driver's library.
const EnvLibrary = "FERRUM_CUDA_LIBRARY"

// libraryPath is what the variable says. A program with more rights than its user does
// not load what its user names.
func libraryPath() string {
	path := os.Getenv(EnvLibrary)
	if path == "" || hasMoreRights() {
		return ""
	}
	return path
}
