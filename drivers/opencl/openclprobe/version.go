package openclprobe

import (
	"fmt"
	"strconv"
	"strings"
)

type version struct{ major, minor int }

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

func (v version) below(major, minor int) bool {
	return v.major < major || v.major == major && v.minor < minor
}

// versionNumber parses a text such as "OpenCL 3.0 vendor text".
func versionNumber(text string) (version, bool) {
	words := strings.Fields(text)
	if len(words) < 2 || words[0] != "OpenCL" {
		return version{}, false
	}
	major, minor, found := strings.Cut(words[1], ".")
	v := version{}
	var err, minorErr error
	v.major, err = strconv.Atoi(major)
	v.minor, minorErr = strconv.Atoi(minor)
	return v, found && err == nil && minorErr == nil && v.major > 0 && v.minor >= 0
}
