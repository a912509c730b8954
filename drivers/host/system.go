package host

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// unlimited stands for "no limit" and "not known to be limited".
const unlimited = math.MaxUint64

// system reads what the kernel says about this process's memory. Its files are
// found below root, which is "/" but for tests. What cannot be read is unknown,
// never an error: the backend works without any of it once given a size.
type system struct {
	root    string
	cgroups cgroups
}

func newSystem(root string) *system {
	s := &system{root: root}
	s.cgroups = findCgroups(s)
	return s
}

// read is the content of a file, or "".
func (s *system) read(path string) string {
	content, err := readReading(filepath.Join(s.root, path))
	if err != nil {
		return ""
	}
	return string(content)
}

// number is the number that a file holds alone.
func (s *system) number(path string) (uint64, bool) {
	value, err := strconv.ParseUint(strings.TrimSpace(s.read(path)), 10, 64)
	return value, err == nil
}

// meminfo reads a field of /proc/meminfo, in bytes.
func (s *system) meminfo(field string) (uint64, bool) {
	for line := range strings.Lines(s.read("proc/meminfo")) {
		name, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(rest)
		if name != field || len(words) != 2 || words[1] != "kB" {
			continue
		}
		kib, err := strconv.ParseUint(words[0], 10, 64)
		return kib << 10, err == nil && kib <= math.MaxUint64>>10
	}
	return 0, false
}

// memTotal is the memory of the machine; 0 means unknown.
func (s *system) memTotal() uint64 {
	if total, ok := s.meminfo("MemTotal"); ok {
		return total
	}
	if s.root == "/" {
		return nativeMemTotal()
	}
	return 0
}

// usable is what this process may really use; 0 means unknown.
func (s *system) usable() uint64 {
	total := s.memTotal()
	if total == 0 {
		total = unlimited
	}
	if least := min(total, s.cgroups.limit(s)); least != unlimited {
		return least
	}
	return 0
}

// available is what this process could still touch before the machine or a
// control group runs out of memory, or unlimited if nothing is known.
func (s *system) available() uint64 {
	available, ok := s.meminfo("MemAvailable")
	if !ok {
		available = unlimited
	}
	return min(available, s.cgroups.headroom(s))
}

// anonymousResident is the anonymous memory of this process that has really
// been touched.
func (s *system) anonymousResident() uint64 {
	words := strings.Fields(s.read("proc/self/statm"))
	if len(words) < 3 {
		return 0
	}
	resident, err1 := strconv.ParseUint(words[1], 10, 48)
	shared, err2 := strconv.ParseUint(words[2], 10, 48)
	if err1 != nil || err2 != nil || shared > resident {
		return 0
	}
	return (resident - shared) * uint64(os.Getpagesize())
}

// processorName is the model of the first processor.
func (s *system) processorName() string {
	for line := range strings.Lines(s.read("proc/cpuinfo")) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == "model name" && strings.TrimSpace(value) != "" {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	if s.root == "/" {
		if name := nativeProcessorName(); name != "" {
			return name
		}
	}
	return "Host CPU"
}
