package host

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"ferrum_mem/drivers/host/mapping"
	"ferrum_mem/drivers/host/native"
	"ferrum_mem/drivers/internal/hostmemory"
)

// unlimited means "no limit" or "no known limit".
const unlimited = hostmemory.Unlimited

// system reads what the kernel reports about the memory of this process. A value that cannot
// be read is unknown and never an error: with a configured size the backend works without any
// of them.
type system struct{ *hostmemory.Reader }

func newSystem(root string) *system { return &system{hostmemory.New(root)} }

// mayRead returns why no file can be opened now, or nil. A missing file is not a reason.
func (s *system) mayRead() error {
	file, err := os.Open(s.Root)
	if err == nil {
		return file.Close()
	}
	switch mapping.Errno(err) {
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM:
		return err
	}
	return nil
}

// memTotal returns the memory of the machine. 0 means unknown.
func (s *system) memTotal() uint64 {
	if total, ok := s.Meminfo("MemTotal"); ok {
		return total
	}
	if s.Root == "/" {
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
	if least := min(total, s.Limit()); least != unlimited {
		return least
	}
	return 0
}

// anonymousResident returns the anonymous memory of this process that was touched.
func (s *system) anonymousResident() uint64 {
	words := strings.Fields(s.Read("proc/self/statm"))
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
	if first, _, complete := strings.Cut(s.ReadUpTo(file, 4096), "\n\n"); complete {
		name = native.ProcessorOf(first)
	}
	if name == "" {
		name = native.ProcessorOf(s.Read(file))
	}
	if name == "" && s.Root == "/" {
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
	m := Machine{Processor: s.processorName(), TotalBytes: s.usable(), AvailableBytes: s.Available()}
	m.AvailableKnown = m.AvailableBytes != unlimited
	if !m.AvailableKnown {
		m.AvailableBytes = 0
		if s.Root == "/" {
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
	policy, ok := s.Number("proc/sys/vm/overcommit_memory")
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
	bound, _ := s.Number("proc/sys/vm/max_map_count")
	return bound
}
