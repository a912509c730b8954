package host

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

const someStalls = "some avg10=12.05 avg60=3.40 avg300=0.99 total=123456789\n" +
	"full avg10=1.00 avg60=0.20 avg300=0.03 total=23456789\n"

// inGroup returns a system whose process is in a control group of version 2.
func inGroup(t *testing.T, tree map[string]string) *system {
	whole := map[string]string{
		"proc/self/cgroup":    "0::/a/b\n",
		"proc/self/mountinfo": "35 31 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
	}
	for name, text := range tree {
		whole[name] = text
	}
	return newSystem(files(t, whole))
}

func TestSystemPressureReadsAllItsFiles(t *testing.T) {
	s := inGroup(t, map[string]string{
		"proc/pressure/memory":              someStalls,
		"sys/fs/cgroup/a/b/memory.pressure": "some avg10=100.00 avg60=0.00 avg300=0.00 total=7\n",
		"sys/fs/cgroup/a/b/memory.events":   "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n",
		"sys/fs/cgroup/a/b/memory.high":     "1048576\n",
	})
	require.Equal(t, device.SystemPressure{
		Machine: device.StallReading{Stalls: device.Stalls{
			Some: device.Stall{Avg10: 1205, Avg60: 340, Avg300: 99, TotalMicroseconds: 123456789},
			Full: device.Stall{Avg10: 100, Avg60: 20, Avg300: 3, TotalMicroseconds: 23456789},
		}},
		Group: device.StallReading{Stalls: device.Stalls{Some: device.Stall{Avg10: 10000, TotalMicroseconds: 7}}},
		Events: device.EventReading{Events: device.Events{
			Low: 1, High: 2, Max: 3, OOM: 4, OOMKill: 5,
		}},
		High: device.LimitReading{Bytes: 1 << 20},
	}, s.pressure())
}

func TestMissingSystemValuesHaveAReason(t *testing.T) {
	none := newSystem(files(t, nil)).pressure()
	requireCode(t, device.CodeUnsupported, none.Machine.Err, "/proc/pressure/memory")
	for _, err := range []error{none.Group.Err, none.Events.Err, none.High.Err} {
		requireCode(t, device.CodeUnsupported, err, "version 2")
	}
	group := inGroup(t, nil).pressure()
	requireCode(t, device.CodeUnsupported, group.Group.Err, "/sys/fs/cgroup/a/b/memory.pressure")
	requireCode(t, device.CodeUnsupported, group.Events.Err, "/sys/fs/cgroup/a/b/memory.events")
	requireCode(t, device.CodeUnsupported, group.High.Err, "/sys/fs/cgroup/a/b/memory.high")
	first := newSystem(files(t, map[string]string{
		"proc/self/cgroup":    "4:memory:/a\n0::/\n",
		"proc/self/mountinfo": "35 31 0:32 / /m rw - cgroup cgroup rw,memory\n",
	})).pressure()
	requireCode(t, device.CodeUnsupported, first.Group.Err, "version 2")
}

func TestNoHighLimit(t *testing.T) {
	s := inGroup(t, map[string]string{"sys/fs/cgroup/a/b/memory.high": "max\n"})
	require.Equal(t, device.LimitReading{Bytes: math.MaxUint64}, s.pressure().High)
}

func TestMalformedPressureIsReported(t *testing.T) {
	for _, text := range []string{
		"some\n", "some avg10=1.00\n", "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", "garbage",
		"some avg10=1 avg60=0.00 avg300=0.00 total=0\n", "some avg10=100.01 avg60=0.00 avg300=0.00 total=0\n",
		"some avg10=-1.00 avg60=0.00 avg300=0.00 total=0\n", "some avg10=1.00 avg60=0.00 avg300=0.00 total=x\n",
		"some avg10=1.+1 avg60=0.00 avg300=0.00 total=0\n", "\n",
	} {
		s := inGroup(t, map[string]string{"proc/pressure/memory": text})
		requireCode(t, device.CodeInvalidFormat, s.pressure().Machine.Err, "/proc/pressure/memory")
	}
	bad := inGroup(t, map[string]string{
		"sys/fs/cgroup/a/b/memory.events": "high many\n",
		"sys/fs/cgroup/a/b/memory.high":   "-1\n",
	}).pressure()
	requireCode(t, device.CodeInvalidFormat, bad.Events.Err, "high many")
	requireCode(t, device.CodeInvalidFormat, bad.High.Err, `"-1"`)
	require.Zero(t, bad.Events.Events)
}

func TestStallTextNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stall, ok := parseStall(rapid.StringMatching(`((avg10|avg60|avg300|total)=[0-9.]{0,6} ?){0,6}`).Draw(t, "text"))
		if ok {
			require.LessOrEqual(t, max(stall.Avg10, stall.Avg60, stall.Avg300), uint32(10000))
		}
	})
}
