package hostmemory

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Unlimited means "no limit" or "no known limit".
const Unlimited = math.MaxUint64

// Reader reads the files of the kernel. They are below Root, which is "/" except in tests.
// A value that cannot be read is unknown and never an error.
type Reader struct {
	Root   string
	groups func() Cgroups
}

// New returns a reader of the files below root. It reads nothing yet.
func New(root string) *Reader {
	r := &Reader{Root: root}
	r.groups = sync.OnceValue(func() Cgroups { return findCgroups(r) })
	return r
}

// Read returns the content of a file, or "".
func (r *Reader) Read(path string) string { return r.ReadUpTo(path, MaxReadingBytes) }

// ReadUpTo is like Read, but may stop after that many bytes.
func (r *Reader) ReadUpTo(path string, bytes int) string {
	content, err := readReading(filepath.Join(r.Root, path), bytes)
	if err != nil {
		return ""
	}
	return string(content)
}

// Number reads a file that contains only a number.
func (r *Reader) Number(path string) (uint64, bool) {
	value, err := strconv.ParseUint(strings.TrimSpace(r.Read(path)), 10, 64)
	return value, err == nil
}

// Meminfo reads a field of /proc/meminfo, in bytes.
func (r *Reader) Meminfo(field string) (uint64, bool) {
	for line := range strings.Lines(r.Read("proc/meminfo")) {
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

// Cgroups returns the control groups that limit this process's memory.
func (r *Reader) Cgroups() Cgroups { return r.groups() }

// Limit returns the lowest limit of the control groups, or Unlimited.
func (r *Reader) Limit() uint64 { return r.groups().limit(r) }

// Available returns how many bytes this process could still touch before the machine or a
// control group runs out of memory, or Unlimited if nothing is known.
func (r *Reader) Available() uint64 {
	available, ok := r.Meminfo("MemAvailable")
	if !ok {
		available = Unlimited
	}
	return min(available, r.groups().headroom(r))
}
