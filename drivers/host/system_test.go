package host

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/drivers/host/mapping"
)

const (
	v1Mount = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	v2Mount = "24 20 0:21 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
)

func TestTheLowestControlGroupLimitCounts(t *testing.T) {
	for name, c := range map[string]struct {
		tree    map[string]string
		version int
		limit   uint64 // 0: none
		usable  uint64
		room    uint64 // available; 0: the machine's 12 GiB
	}{
		"no control groups": {usable: 16 * gib},
		"version 2, own group": {
			tree: map[string]string{
				"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2Mount,
				"sys/fs/cgroup/a/memory.max":     "4294967296\n",
				"sys/fs/cgroup/a/memory.current": "3221225472\n",
				"sys/fs/cgroup/a/memory.stat":    "anon 5\nactive_file 1073741824\ninactive_file 536870912\n",
			},
			version: 2, limit: 4 * gib, usable: 4 * gib, room: 5 * gib / 2,
		},
		"version 2, a group above": {
			tree: map[string]string{
				"proc/self/cgroup": "0::/a/b/c\n", "proc/self/mountinfo": v2Mount,
				"sys/fs/cgroup/a/memory.max":     "2147483648\n",
				"sys/fs/cgroup/a/memory.current": "3221225472\n",
				"sys/fs/cgroup/a/b/memory.max":   "max\n",
				"sys/fs/cgroup/a/b/c/memory.max": "4294967296\n",
			},
			// More memory is in use than the lowered limit: nothing is free, and the
			// difference does not wrap.
			version: 2, limit: 2 * gib, usable: 2 * gib, room: math.MaxUint64,
		},
		"version 2, soft limit": {
			tree: map[string]string{
				"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2Mount,
				"sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.high": "1073741824\n",
			},
			version: 2, limit: gib, usable: gib,
		},
		"version 2, unlimited": {
			tree: map[string]string{
				"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2Mount,
				"sys/fs/cgroup/a/memory.max": "max\n",
			},
			version: 2, usable: 16 * gib,
		},
		"version 2, above the machine": {
			tree: map[string]string{
				"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2Mount,
				"sys/fs/cgroup/a/memory.max": "1099511627776\n",
			},
			version: 2, limit: 1 << 40, usable: 16 * gib,
		},
		"version 2, namespace root": {
			tree: map[string]string{
				"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2Mount,
				"sys/fs/cgroup/memory.max": "3221225472\n",
			},
			version: 2, limit: 3 * gib, usable: 3 * gib,
		},
		"version 2, outside the namespace": {
			tree: map[string]string{
				"proc/self/cgroup":         "0::/../../other\n",
				"proc/self/mountinfo":      "24 20 0:21 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
				"sys/fs/cgroup/memory.max": "3221225472\n",
			},
			version: 2, limit: 3 * gib, usable: 3 * gib,
		},
		"version 1, hybrid": {
			tree: map[string]string{
				"proc/self/cgroup":                               "9:name=systemd:/\n4:cpu,memory:/a/b\n0::/\n",
				"proc/self/mountinfo":                            v1Mount + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
				"sys/fs/cgroup/memory/a/memory.limit_in_bytes":   "1073741824\n",
				"sys/fs/cgroup/memory/a/memory.usage_in_bytes":   "805306368\n",
				"sys/fs/cgroup/memory/a/memory.stat":             "inactive_file 9\ntotal_inactive_file 268435456\ntotal_active_file x\n",
				"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712\n",
			},
			version: 1, limit: gib, usable: gib, room: gib / 2,
		},
		"version 1, unlimited with 64 KiB pages": {
			tree: map[string]string{
				"proc/self/cgroup": "4:memory:/\n", "proc/self/mountinfo": v1Mount,
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854710272\n",
			},
			version: 1, usable: 16 * gib,
		},
		"container without a namespace": {
			tree: map[string]string{
				"proc/self/cgroup":                           "4:memory:/docker/abc\n",
				"proc/self/mountinfo":                        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
			},
			version: 1, limit: gib, usable: gib,
		},
		"container with a hidden name": {
			tree: map[string]string{
				"proc/self/cgroup":                           "4:memory:/elsewhere\n",
				"proc/self/mountinfo":                        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
			},
			version: 1, limit: gib, usable: gib,
		},
		"a mount root that is only a prefix of the name": {
			tree: map[string]string{
				"proc/self/cgroup": "0::/ab/c\n",
				"proc/self/mountinfo": "1 1 0:1 /a /wrong rw - cgroup2 cgroup2 rw\n" +
					"2 1 0:1 /ab /right rw - cgroup2 cgroup2 rw\n",
				"wrong/memory.max": "1073741824\n", "right/c/memory.max": "2147483648\n",
			},
			version: 2, limit: 2 * gib, usable: 2 * gib,
		},
		"several mounts, one with a space": {
			tree: map[string]string{
				"proc/self/cgroup": "0::/a\n",
				"proc/self/mountinfo": "garbage\n1 2 3\n" + v2Mount +
					"50 20 0:21 /a /mnt/my\\040group rw - cgroup2 none rw\n",
				"sys/fs/cgroup/a/memory.max": "4294967296\n", "mnt/my group/memory.max": "2147483648\n",
			},
			version: 2, limit: 2 * gib, usable: 2 * gib,
		},
		"unreadable numbers": {
			tree: map[string]string{
				"proc/self/cgroup": "0::/a\nnonsense\n1:x\n0::relative\n", "proc/self/mountinfo": v2Mount,
				"sys/fs/cgroup/a/memory.max": "-5\n",
			},
			version: 2, usable: 16 * gib,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := machine(t, c.tree)
			require.Equal(t, c.version, s.Cgroups().Version)
			require.Equal(t, c.usable, s.usable())
			require.Equal(t, c.limit, s.limits().CgroupLimitBytes)
			switch c.room {
			case 0:
				require.EqualValues(t, 12*gib, s.Available())
			case math.MaxUint64:
				require.Zero(t, s.Available())
			default:
				require.Equal(t, c.room, s.Available())
			}
		})
	}
}

func TestALimitThatChangesAtRunTimeIsRead(t *testing.T) {
	s := machine(t, map[string]string{
		"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2Mount,
		"sys/fs/cgroup/a/memory.max": "4294967296\n", "sys/fs/cgroup/a/memory.current": "0\n",
	})
	require.EqualValues(t, 4*gib, s.Available())
	require.NoError(t, os.WriteFile(filepath.Join(s.Root, "sys/fs/cgroup/a/memory.max"), []byte("1073741824\n"), 0o644))
	require.EqualValues(t, gib, s.Available())
}

func TestLimitsOfAFixture(t *testing.T) {
	s := machine(t, map[string]string{
		"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2Mount,
		"sys/fs/cgroup/a/memory.max":                 "4294967296\n",
		"proc/self/limits":                           "Limit   Soft   Hard  Units\nMax locked memory         8388608     unlimited   bytes\n",
		"proc/sys/vm/max_map_count":                  "65530\n",
		"proc/sys/vm/overcommit_memory":              "2\n",
		"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
	})
	require.Equal(t, Limits{
		MemTotalBytes: 16 * gib, MemAvailableBytes: 12 * gib, CgroupVersion: 2, CgroupLimitBytes: 4 * gib,
		CgroupPath: "/a", MemlockLimitBytes: 8 << 20, MaxMapCount: 65530, TransparentHugePages: "madvise",
		OvercommitPolicy: "strict", PageSizeBytes: uint64(os.Getpagesize()),
	}, s.limits())
	require.Equal(t, Limits{PageSizeBytes: uint64(os.Getpagesize())}, newSystem(files(t, nil)).limits())

	unlimitedLock := newSystem(files(t, map[string]string{"proc/self/limits": "Max locked memory unlimited unlimited bytes\n"}))
	require.EqualValues(t, uint64(math.MaxUint64), unlimitedLock.limits().MemlockLimitBytes)
}

// TestDamagedReadingsAreUnknown: damaged files give unknown values, never wrong numbers.
func TestDamagedReadingsAreUnknown(t *testing.T) {
	for _, text := range []string{
		"", "MemTotal: 5\n", "MemTotal: 5 MB\n", "MemTotal: -5 kB\n", "MemTotal: 99999999999999999999 kB\n",
		"MemTotal: 18446744073709551615 kB\n", "MemTotalX: 5 kB\n", "MemTotal\n", strings.Repeat("x", 100000),
	} {
		require.Zero(t, newSystem(files(t, map[string]string{"proc/meminfo": text})).memTotal(), text)
	}
	for _, text := range []string{"", "1 2", "1 2 3", "a b c", "1 -2 0", "1 99999999999999999999 1"} {
		require.Zero(t, newSystem(files(t, map[string]string{"proc/self/statm": text})).anonymousResident(), text)
	}
	for _, text := range []string{"", "processor : 0\n", "model name :\n", "model name\n"} {
		require.Equal(t, "Unknown CPU", newSystem(files(t, map[string]string{"proc/cpuinfo": text})).processorName())
	}
}

// TestOneProcessorIsReadIfThatIsEnough reads only the first processor if its entry is
// complete.
func TestOneProcessorIsReadIfThatIsEnough(t *testing.T) {
	one := "processor\t: 0\nmodel name\t: Example CPU\nflags\t: " + strings.Repeat("flag ", 600) + "\n\n"
	long := strings.Replace(one, "flag ", strings.Repeat("flag ", 10), 1)
	nameless := "processor\t: 0\n\nprocessor\t: 1\n\nHardware\t: Example board\n"
	for text, want := range map[string]string{
		one:                              "Example CPU",
		strings.Repeat(one, 100):         "Example CPU",
		strings.Repeat(long, 2):          "Example CPU",
		nameless:                         "Example board",
		strings.Repeat("\n", 5000) + one: "Example CPU",
	} {
		require.Equal(t, want, newSystem(files(t, map[string]string{"proc/cpuinfo": text})).processorName())
	}
	root := files(t, map[string]string{"proc/cpuinfo": strings.Repeat(one, 100)})
	require.LessOrEqual(t, len(newSystem(root).ReadUpTo("proc/cpuinfo", 4096)), 8192)
}

func TestLimitsOfThisMachineCanBeRead(t *testing.T) {
	l := ReadLimits()
	require.NotZero(t, l.MemTotalBytes)
	require.NotZero(t, l.PageSizeBytes)
	require.LessOrEqual(t, l.MemAvailableBytes, l.MemTotalBytes)
	d, err := newDriver(Config{}, noEnv, newSystem("/"), mapping.System())
	require.NoError(t, err)
	require.Equal(t, l.MemTotalBytes, d.Limits().MemTotalBytes)
	infos, err := d.Devices()
	require.NoError(t, err)
	require.LessOrEqual(t, infos[0].TotalBytes, l.MemTotalBytes)
}
