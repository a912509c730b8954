package host

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"ferrum_mem/drivers/host/mapping"
	"ferrum_mem/drivers/host/native"
)

// unlimited means "no limit" or "no known limit".
const unlimited = math.MaxUint64

// system reads what the kernel reports about the memory of this process. Its files are
// below root, which is "/" except in tests. A value that cannot be read is unknown and
// never an error: with a configured size the backend works without any of them.
type system struct {
	root   string
	groups func() cgroups
}

func newSystem(root string) *system {
	s := &system{root: root}
	s.groups = sync.OnceValue(func() cgroups { return findCgroups(s) })
	return s
}

// mayRead returns why no file can be opened now, or nil. A missing file is not a reason.
func (s *system) mayRead() error {
	file, err := os.Open(s.root)
	if err == nil {
		return file.Close()
	}
	switch mapping.Errno(err) {
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM:
		return err
	}
	return nil
}

// read returns the content of a file, or "".
func (s *system) read(path string) string {
	return s.readUpTo(path, maxReadingBytes)
}

// readUpTo is like read, but may stop after that many bytes.
func (s *system) readUpTo(path string, bytes int) string {
	content, err := readReading(filepath.Join(s.root, path), bytes)
	if err != nil {
		return ""
	}
	return string(content)
}

// number reads a file that contains only a number.
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

// memTotal returns the memory of the machine. 0 means unknown.
func (s *system) memTotal() uint64 {
	if total, ok := s.meminfo("MemTotal"); ok {
		return total
	}
	if s.root == "/" {
		return native.MemTotal()
	}
	return 0
}

// usable returns the memory that this process may use. 0 means unknown.
func (s *system) usable() uint64 {
	total := s.memTotal()
	if total == 0 {
		total = unlimited
	}
	if least := min(total, s.groups().limit(s)); least != unlimited {
		return least
	}
	return 0
}

// available returns how many bytes this process could still touch before the machine or a
// control group runs out of memory, or unlimited if nothing is known.
func (s *system) available() uint64 {
	available, ok := s.meminfo("MemAvailable")
	if !ok {
		available = unlimited
	}
	return min(available, s.groups().headroom(s))
}

// anonymousResident returns the anonymous memory of this process that was touched.
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

// processorName returns the model of the first processor.
func (s *system) processorName() string {
	const file = "proc/cpuinfo"
	// The length of the file grows with the number of processors, and some systems query
	// each processor for its frequency.
	name := ""
	if first, _, complete := strings.Cut(s.readUpTo(file, 4096), "\n\n"); complete {
		name = native.ProcessorOf(first)
	}
	if name == "" {
		name = native.ProcessorOf(s.read(file))
	}
	if name == "" && s.root == "/" {
		name = native.Processor()
	}
	if name == "" {
		return native.UnknownProcessor
	}
	return name
}

// Machine describes this machine's processor and memory.
type Machine struct {
	// Processor is its model, or "Unknown CPU".
	Processor string
	// TotalBytes is the memory that this process may use, which a control group may limit.
	// 0 means unknown.
	TotalBytes uint64
	// AvailableBytes is the memory that the process could still touch, if AvailableKnown.
	AvailableBytes uint64
	AvailableKnown bool
}

// ReadMachine reads the current values. It needs no driver.
func ReadMachine() Machine { return newSystem("/").machine() }

func (s *system) machine() Machine {
	m := Machine{Processor: s.processorName(), TotalBytes: s.usable(), AvailableBytes: s.available()}
	m.AvailableKnown = m.AvailableBytes != unlimited
	if !m.AvailableKnown {
		m.AvailableBytes = 0
		if s.root == "/" {
			m.AvailableBytes, m.AvailableKnown = native.MemAvailable()
		}
	}
	if m.TotalBytes != 0 {
		m.AvailableBytes = min(m.AvailableBytes, m.TotalBytes)
	}
	return m
}

const policyStrict = "strict"

func (s *system) overcommitPolicy() string {
	policy, ok := s.number("proc/sys/vm/overcommit_memory")
	if !ok {
		return ""
	}
	switch policy {
	case 0:
		return "heuristic"
	case 1:
		return "always"
	case 2:
		return policyStrict
	}
	return strconv.FormatUint(policy, 10)
}

// maxMapCount returns the limit on the mappings of a process. 0 means unknown.
func (s *system) maxMapCount() uint64 {
	bound, _ := s.number("proc/sys/vm/max_map_count")
	return bound
}
