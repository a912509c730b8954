package dl

import "os"

// PathIn returns the path of a library that an environment variable has; "": none. A program with
// more rights than its user does not load a library that the user names, so the result is "" there.
func PathIn(variable string) string {
	path := os.Getenv(variable)
	if path == "" || hasMoreRights() {
		return ""
	}
	return path
}
