package cudaprobe

import "os"

// EnvLibrary is the environment variable with the path of the vendor driver's library.
const EnvLibrary = "FERRUM_CUDA_LIBRARY"

// libraryPath returns the value of the variable. A program with more rights than its user
// does not load a library that the user names, so the result is "" there.
func libraryPath() string {
	path := os.Getenv(EnvLibrary)
	if path == "" || hasMoreRights() {
		return ""
	}
	return path
}
