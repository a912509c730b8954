package host

import (
	"os"
	"strconv"
	"strings"
)

// Limits are the limits of the system on the memory of this process. A value that cannot be
// read is 0 or "".
type Limits struct {
	MemTotalBytes     uint64 `json:"mem_total_bytes"`
	MemAvailableBytes uint64 `json:"mem_available_bytes"`
	// CgroupVersion is the version of the control group hierarchy with the memory
	// controller, 1 or 2. 0: there is none.
	CgroupVersion int `json:"cgroup_version"`
	// CgroupLimitBytes is the lowest limit of the process's group and of the groups above
	// it. 0: there is no limit.
	CgroupLimitBytes uint64 `json:"cgroup_limit_bytes"`
	// CgroupPath is the process's own group within the hierarchy.
	CgroupPath string `json:"cgroup_path"`
	// MemlockLimitBytes is the largest size of the memory that the process may lock. The
	// largest value means no limit.
	MemlockLimitBytes uint64 `json:"memlock_limit_bytes"`
	MaxMapCount       uint64 `json:"max_map_count"`
	// TransparentHugePages is "always", "madvise" or "never".
	TransparentHugePages string `json:"transparent_huge_pages"`
	// OvercommitPolicy is "heuristic", "always" or "strict".
	OvercommitPolicy string `json:"overcommit_policy"`
	PageSizeBytes    uint64 `json:"page_size_bytes"`
}

// ReadLimits reads the limits of this process. It needs no driver, so it also works if a
// driver rejects its settings.
func ReadLimits() Limits { return newSystem("/").limits() }

// Limits reads the limits of this process.
func (d *Driver) Limits() Limits { return d.system.limits() }

func (s *system) limits() Limits {
	l := Limits{
		MemTotalBytes:        s.memTotal(),
		CgroupVersion:        s.Cgroups().Version,
		CgroupPath:           s.Cgroups().Path,
		MemlockLimitBytes:    s.memlockLimit(),
		TransparentHugePages: s.chosen("sys/kernel/mm/transparent_hugepage/enabled"),
		OvercommitPolicy:     s.overcommitPolicy(),
		PageSizeBytes:        uint64(os.Getpagesize()),
	}
	l.MemAvailableBytes, _ = s.Meminfo("MemAvailable")
	l.MaxMapCount = s.maxMapCount()
	if limit := s.Limit(); limit != unlimited {
		l.CgroupLimitBytes = limit
	}
	return l
}

// memlockLimit reads a line such as "Max locked memory  8388608  8388608  bytes".
func (s *system) memlockLimit() uint64 {
	for line := range strings.Lines(s.Read("proc/self/limits")) {
		rest, found := strings.CutPrefix(line, "Max locked memory")
		words := strings.Fields(rest)
		if !found || len(words) < 1 {
			continue
		}
		if words[0] == "unlimited" {
			return unlimited
		}
		limit, err := strconv.ParseUint(words[0], 10, 64)
		if err != nil {
			return 0
		}
		return limit
	}
	return 0
}

// chosen reads the word in brackets of a line such as "always [madvise] never".
func (s *system) chosen(path string) string {
	_, rest, _ := strings.Cut(s.Read(path), "[")
	word, _, found := strings.Cut(rest, "]")
	if !found {
		return ""
	}
	return word
}

// lockedBytes returns how much memory the process has locked, or 0 if that is not known.
func (s *system) lockedBytes() uint64 {
	for line := range strings.Lines(s.Read("proc/self/status")) {
		rest, found := strings.CutPrefix(line, "VmLck:")
		words := strings.Fields(rest)
		if !found || len(words) < 1 {
			continue
		}
		kib, err := strconv.ParseUint(words[0], 10, 53)
		if err != nil {
			return 0
		}
		return kib << 10
	}
	return 0
}

func (s *system) lockLimits() (limit, locked uint64) { return s.memlockLimit(), s.lockedBytes() }
