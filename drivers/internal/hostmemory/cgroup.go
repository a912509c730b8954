package hostmemory

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// The control group of a process and every group above it limit the memory of the process.
// Two files state where these groups are: /proc/self/cgroup names the group within its
// hierarchy, and /proc/self/mountinfo states which part of the hierarchy is mounted where.
// A container may see only its own group: under a mount whose root is that group, or under
// a name that its namespace hides.

// v1Unlimited is the value from which on a limit of version 1 means no limit: the kernel
// writes the largest multiple of the page size below 2^63.
const v1Unlimited = 1 << 62

// Cgroups are the control groups that limit this process's memory.
type Cgroups struct {
	// Version is the version of the hierarchy that has the memory controller: 1, 2, or 0
	// for none.
	Version int
	// Path is the path of the process's own group within the hierarchy.
	Path string
	// Levels are the folders of the process's own group and of the groups above it.
	Levels []string
}

// cgroupFiles are the files of one group, by version.
var cgroupFiles = [...]struct {
	limits      []string
	usage       string
	reclaimable []string
}{
	// Above memory.high the kernel reclaims pages and stalls the process. So it bounds the
	// usable memory just as memory.max does.
	2: {[]string{"memory.max", "memory.high"}, "memory.current", []string{"active_file", "inactive_file"}},
	1: {[]string{"memory.limit_in_bytes"}, "memory.usage_in_bytes", []string{"total_active_file", "total_inactive_file"}},
}

type cgroupMount struct{ root, point string }

// findCgroups finds the groups once. Their limits are read each time, because they can
// change while the process runs.
func findCgroups(r *Reader) Cgroups {
	v1Path, v2Path := parseCgroupPaths(r.Read("proc/self/cgroup"))
	v1Mounts, v2Mounts := parseCgroupMounts(r.Read("proc/self/mountinfo"))
	if v1Path != "" && len(v1Mounts) > 0 {
		return Cgroups{Version: 1, Path: v1Path, Levels: cgroupLevels(v1Path, v1Mounts)}
	}
	if v2Path != "" && len(v2Mounts) > 0 {
		return Cgroups{Version: 2, Path: v2Path, Levels: cgroupLevels(v2Path, v2Mounts)}
	}
	return Cgroups{}
}

// parseCgroupPaths reads lines such as "4:memory:/a/b" (version 1) and "0::/a/b" (version
// 2). A path is "" if there is no such line.
func parseCgroupPaths(text string) (v1, v2 string) {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		switch {
		case slices.Contains(strings.Split(parts[1], ","), "memory"):
			v1 = parts[2]
		case parts[0] == "0" && parts[1] == "":
			v2 = parts[2]
		}
	}
	return v1, v2
}

// parseCgroupMounts reads lines such as "35 31 0:32 /root /point rw - cgroup source
// rw,memory".
func parseCgroupMounts(text string) (v1, v2 []cgroupMount) {
	for line := range strings.Lines(text) {
		before, after, found := strings.Cut(line, " - ")
		fields, tail := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 5 || len(tail) < 3 {
			continue
		}
		mount := cgroupMount{root: unescapeMount(fields[3]), point: unescapeMount(fields[4])}
		switch {
		case tail[0] == "cgroup2":
			v2 = append(v2, mount)
		case tail[0] == "cgroup" && slices.Contains(strings.Split(tail[2], ","), "memory"):
			v1 = append(v1, mount)
		}
	}
	return v1, v2
}

// unescapeMount decodes the \040 form in which the kernel writes spaces, tabs, newlines and
// backslashes.
func unescapeMount(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+4 <= len(text) {
			if code, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// cgroupLevels lists the folders of a group and of all groups above it, for every mount
// that shows them. If no mount shows them, a namespace or container hides the group's name.
// Then the mounted group is the process's own group or one above it.
func cgroupLevels(own string, mounts []cgroupMount) []string {
	var levels []string
	for _, mount := range mounts {
		relative, inside := below(own, mount.root)
		if !inside {
			continue
		}
		for folder := path.Join(mount.point, relative); ; folder = path.Dir(folder) {
			levels = append(levels, folder)
			if folder == path.Clean(mount.point) {
				break
			}
		}
	}
	if len(levels) > 0 {
		return levels
	}
	for _, mount := range mounts {
		levels = append(levels, path.Clean(mount.point))
	}
	return levels
}

// below returns the part of a path after root, if the path lies below root. A path with
// ".." leads out of the namespace, so nothing counts as below it.
func below(own, root string) (string, bool) {
	if slices.Contains(strings.Split(own, "/"), "..") || slices.Contains(strings.Split(root, "/"), "..") {
		return "", false
	}
	own, root = path.Clean(own), path.Clean(root)
	if root == "/" {
		return own, true
	}
	if own == root || strings.HasPrefix(own, root+"/") {
		return own[len(root):], true
	}
	return "", false
}

// limit returns the lowest limit of all levels, or Unlimited.
func (c Cgroups) limit(r *Reader) uint64 {
	least := uint64(Unlimited)
	for _, level := range c.Levels {
		least = min(least, c.levelLimit(r, level))
	}
	return least
}

func (c Cgroups) levelLimit(r *Reader, level string) uint64 {
	least := uint64(Unlimited)
	for _, file := range cgroupFiles[c.Version].limits {
		limit, ok := r.Number(path.Join(level, file))
		if ok && (c.Version != 1 || limit < v1Unlimited) {
			least = min(least, limit)
		}
	}
	return least
}

// headroom returns how many bytes the process can still touch before a level reaches its
// limit, or Unlimited. The kernel reclaims file pages before it enforces a limit, so they
// count as free, as they do in MemAvailable.
func (c Cgroups) headroom(r *Reader) uint64 {
	least := uint64(Unlimited)
	for _, level := range c.Levels {
		limit := c.levelLimit(r, level)
		if limit == Unlimited {
			continue
		}
		usage, known := r.Number(path.Join(level, cgroupFiles[c.Version].usage))
		if !known {
			continue
		}
		usage -= min(usage, c.reclaimable(r, level))
		least = min(least, limit-min(limit, usage))
	}
	return least
}

func (c Cgroups) reclaimable(r *Reader, level string) uint64 {
	var sum uint64
	for line := range strings.Lines(r.Read(path.Join(level, "memory.stat"))) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !slices.Contains(cgroupFiles[c.Version].reclaimable, key) {
			continue
		}
		if bytes, err := strconv.ParseUint(value, 10, 62); err == nil {
			sum += bytes
		}
	}
	return sum
}
