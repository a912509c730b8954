package cpu

import (
	"os"
	"path"
	"strconv"
	"strings"
)

// quota returns how many processors the control groups of this process allow, rounded up, or
// 0 without a limit. read returns the contents of a file.
func quota(read func(path string) (string, bool)) int {
	groups, ok := read("/proc/self/cgroup")
	if !ok {
		return 0
	}
	least := 0
	limit := func(quotaText, periodText string) {
		quota, err := strconv.ParseInt(quotaText, 10, 64)
		period, periodErr := strconv.ParseInt(periodText, 10, 64)
		if err != nil || periodErr != nil || quota <= 0 || period <= 0 {
			return
		}
		if n := int((quota + period - 1) / period); least == 0 || n < least {
			least = n
		}
	}
	for line := range strings.Lines(groups) {
		// number:controllers:path; the unified hierarchy has no controllers.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		isUnified := parts[1] == ""
		if !isUnified && !strings.Contains(","+parts[1]+",", ",cpu,") {
			continue
		}
		// A limit of any parent applies too. Inside a container the path may be that of the
		// host, which does not exist here; the root then is the container's group.
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			if isUnified {
				if text, ok := read(path.Join("/sys/fs/cgroup", at, "cpu.max")); ok {
					if fields := strings.Fields(text); len(fields) == 2 {
						limit(fields[0], fields[1])
					}
				}
			} else {
				folder := path.Join("/sys/fs/cgroup/cpu", at)
				quotaText, ok := read(folder + "/cpu.cfs_quota_us")
				periodText, periodOK := read(folder + "/cpu.cfs_period_us")
				if ok && periodOK {
					limit(strings.TrimSpace(quotaText), strings.TrimSpace(periodText))
				}
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}

func readFile(path string) (string, bool) {
	content, err := os.ReadFile(path)
	return string(content), err == nil
}

// useful returns how many threads this process can run at once: its processors, or fewer if
// the control group's quota allows fewer.
func useful(processors, quota int) int {
	if quota > 0 {
		processors = min(processors, quota)
	}
	return max(1, min(processors, maxThreads))
}
