package host

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMachineEqualsTheSystemsFiles(t *testing.T) {
	require.Equal(t, Machine{Processor: "Unknown CPU"}, newSystem(files(t, nil)).machine(), "unknown fields have no guessed values")
	got := newSystem(files(t, map[string]string{
		"proc/cpuinfo": "model name : X\n", "proc/meminfo": "MemTotal: 1024 kB\nMemAvailable: 512 kB\n",
	})).machine()
	require.Equal(t, Machine{Processor: "X", TotalBytes: 1 << 20, AvailableBytes: 1 << 19, AvailableKnown: true}, got)

	// The limit of a control group is the total memory.
	for name, group := range map[string]map[string]string{
		"version 2": {
			"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": "1 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/a/memory.max": "65536\n", "sys/fs/cgroup/a/memory.current": "16384\n",
		},
		"version 1": {
			"proc/self/cgroup":                             "4:memory:/a\n",
			"proc/self/mountinfo":                          "1 1 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "65536\n", "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "16384\n",
		},
	} {
		group["proc/meminfo"] = "MemTotal: 1024 kB\nMemAvailable: 512 kB\n"
		got = newSystem(files(t, group)).machine()
		require.EqualValues(t, 65536, got.TotalBytes, name)
		require.EqualValues(t, 49152, got.AvailableBytes, name)
	}

	here := ReadMachine()
	require.NotEmpty(t, here.Processor)
	require.NotZero(t, here.TotalBytes)
	require.True(t, here.AvailableKnown)
	require.LessOrEqual(t, here.AvailableBytes, here.TotalBytes)
}
