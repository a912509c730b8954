package cpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheQuotaOfControlGroups(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int
	}{
		"no groups":      {nil, 0},
		"no limit":       {map[string]string{"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/cpu.max": "max 100000\n"}, 0},
		"rounded up":     {map[string]string{"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/cpu.max": "150000 100000\n"}, 2},
		"of a parent":    {map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/cpu.max": "800000 100000\n", "/sys/fs/cgroup/a/cpu.max": "300000 100000"}, 3},
		"of a container": {map[string]string{"/proc/self/cgroup": "0::/not/here\n", "/sys/fs/cgroup/cpu.max": "50000 100000"}, 1},
		"first version": {map[string]string{
			"/proc/self/cgroup":                      "5:cpuset:/x\n4:cpu,cpuacct:/x\n",
			"/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us":  "400000\n",
			"/sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n",
		}, 4},
		"first version, no limit": {map[string]string{
			"/proc/self/cgroup":                      "4:cpu:/x\n",
			"/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us":  "-1\n",
			"/sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n",
		}, 0},
		"malformed": {map[string]string{"/proc/self/cgroup": "0\n0::/a\n", "/sys/fs/cgroup/a/cpu.max": "x 100000\n"}, 0},
	} {
		got := quota(func(path string) (string, bool) {
			text, ok := c.files[path]
			return text, ok
		})
		assert.Equal(t, c.want, got, name)
	}
}

func TestUsefulThreads(t *testing.T) {
	assert.Equal(t, 8, useful(8, 0))
	assert.Equal(t, 2, useful(8, 2))
	assert.Equal(t, 8, useful(8, 100))
	assert.Equal(t, 1, useful(0, 0))
	assert.Equal(t, maxThreads, useful(5000, 0))
}
