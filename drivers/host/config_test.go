package host

import (
	"math"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// machine is a system with 16 GiB, no control groups and the extra files.
func machine(t *testing.T, extra map[string]string) *system {
	tree := map[string]string{
		"proc/meminfo": "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:   12582912 kB\n",
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: Example  CPU\t@ 2 GHz\nprocessor : 1\nmodel name\t: Other\n",
	}
	for name, content := range extra {
		tree[name] = content
	}
	return newSystem(files(t, tree))
}

const gib = 1 << 30

func TestCapacityFromConfigAndEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		config  Config
		env     map[string]string
		devices int
		each    uint64
		forced  bool
	}{
		"detected":               {devices: 1, each: 16 * gib},
		"detected, shared":       {config: Config{Devices: 4}, devices: 4, each: 4 * gib},
		"config":                 {config: Config{Devices: 2, MemoryBytes: 8 * gib}, devices: 2, each: 4 * gib},
		"environment":            {env: map[string]string{EnvMemory: "8GiB", EnvDevices: "2"}, devices: 2, each: 4 * gib},
		"config wins":            {config: Config{Devices: 1, MemoryBytes: gib}, env: map[string]string{EnvMemory: "x", EnvDevices: "y"}, devices: 1, each: gib},
		"forced by config":       {config: Config{MemoryBytes: 64 * gib, MemoryForced: true}, devices: 1, each: 64 * gib, forced: true},
		"forced by environment":  {env: map[string]string{EnvMemory: "64GiB!"}, devices: 1, each: 64 * gib, forced: true},
		"field forces itself":    {config: Config{MemoryForced: true}, env: map[string]string{EnvMemory: "1GiB"}, devices: 1, each: gib},
		"all of the machine":     {env: map[string]string{EnvMemory: "16 gib"}, devices: 1, each: 16 * gib},
		"rounded to granularity": {config: Config{Devices: 3, MemoryBytes: gib}, devices: 3, each: gib / 3 / granularity() * granularity()},
		"spaces":                 {env: map[string]string{EnvMemory: " 2GiB! ", EnvDevices: " 2 "}, devices: 2, each: gib, forced: true},
		"largest number":         {config: Config{MemoryBytes: gib}, env: map[string]string{EnvDevices: "64"}, devices: 64, each: gib / 64},
		"just one granule each":  {config: Config{Devices: 2, MemoryBytes: 2 * granularity()}, devices: 2, each: granularity()},
		"empty means not set":    {env: map[string]string{EnvMemory: "", EnvDevices: ""}, devices: 1, each: 16 * gib},
		"beyond any address":     {env: map[string]string{EnvMemory: "18446744073709551615!"}, devices: 1, each: math.MaxUint64 - granularity() + 1, forced: true},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := newDriver(c.config, envOf(c.env), machine(t, nil), mapping.System())
			require.NoError(t, err)
			require.NoError(t, d.Probe())
			infos, err := d.Devices()
			require.NoError(t, err)
			require.Len(t, infos, c.devices)
			for i, info := range infos {
				require.Equal(t, device.Info{
					ID: device.ID{Backend: "cpu", Index: i}, Name: "Example CPU @ 2 GHz", TotalBytes: c.each,
					GranularityBytes: granularity(), AlignmentBytes: granularity(), HostAddressable: true, Peer: true, HostVisible: true,
					VirtualMemory: runtime.GOOS == "linux", PinnedHost: true, Linker: true, Exporter: runtime.GOOS == "linux",
				}, info)
			}
			require.Equal(t, c.forced, d.settings.forced)
		})
	}
}

func TestBadSettingsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		env    map[string]string
		words  []string
	}{
		"negative devices":  {config: Config{Devices: -1}, words: []string{"host_devices -1", "64"}},
		"too many devices":  {config: Config{Devices: 65}, words: []string{"host_devices 65", "64"}},
		"env devices 0":     {env: map[string]string{EnvDevices: "0"}, words: []string{EnvDevices, `"0"`}},
		"env devices 65":    {env: map[string]string{EnvDevices: "65"}, words: []string{EnvDevices, `"65"`}},
		"env devices text":  {env: map[string]string{EnvDevices: "two"}, words: []string{EnvDevices, `"two"`}},
		"env devices huge":  {env: map[string]string{EnvDevices: "99999999999999999999"}, words: []string{EnvDevices, "99999999999999999999"}},
		"env memory text":   {env: map[string]string{EnvMemory: "lots"}, words: []string{EnvMemory, `"lots"`}},
		"env memory 0":      {env: map[string]string{EnvMemory: "0"}, words: []string{EnvMemory, `"0"`}},
		"env memory 0!":     {env: map[string]string{EnvMemory: "0GiB!"}, words: []string{EnvMemory, `"0GiB!"`}},
		"env memory !":      {env: map[string]string{EnvMemory: "!"}, words: []string{EnvMemory, `"!"`}},
		"env memory twice":  {env: map[string]string{EnvMemory: "8GiB!!"}, words: []string{EnvMemory, `"8GiB!!"`}},
		"env memory wraps":  {env: map[string]string{EnvMemory: "16777216TiB"}, words: []string{EnvMemory, "16777216TiB"}},
		"env above machine": {env: map[string]string{EnvMemory: "17GiB"}, words: []string{EnvMemory, "17GiB", "above the 16 GiB"}},
		"above machine":     {config: Config{MemoryBytes: 16*gib + 1}, words: []string{"host_memory_bytes 17179869185", "above the 16 GiB"}},
		"share too small":   {config: Config{Devices: 2, MemoryBytes: 2*granularity() - 1}, words: []string{"host_memory_bytes", "2 devices"}},
		"env too small":     {env: map[string]string{EnvMemory: "4KiB"}, words: []string{EnvMemory, "4KiB", "1 device:"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newDriver(c.config, envOf(c.env), machine(t, nil), mapping.System())
			requireCode(t, device.CodeInvalidConfig, err, c.words...)
		})
	}
}

func TestNewReadsTheProcessEnvironment(t *testing.T) {
	t.Setenv(EnvMemory, "256MiB")
	t.Setenv(EnvDevices, "2")
	d, err := New(Config{})
	require.NoError(t, err)
	infos, err := d.Devices()
	require.NoError(t, err)
	require.Len(t, infos, 2)
	require.EqualValues(t, 128<<20, infos[1].TotalBytes)
	t.Setenv(EnvDevices, "none")
	_, err = New(Config{})
	requireCode(t, device.CodeInvalidConfig, err, EnvDevices, "none")
}

func TestUnknownMemoryNeedsAConfiguredSize(t *testing.T) {
	blank := newSystem(files(t, nil))
	d, err := newDriver(Config{}, noEnv, blank, mapping.System())
	require.NoError(t, err)
	requireCode(t, device.CodeBackendUnavailable, d.Probe(), EnvMemory)
	_, err = d.Devices()
	requireCode(t, device.CodeBackendUnavailable, err)
	_, err = d.Open(0)
	requireCode(t, device.CodeBackendUnavailable, err)

	d, err = newDriver(Config{MemoryBytes: gib}, noEnv, blank, mapping.System())
	require.NoError(t, err)
	o := openAll(t, d)[0]
	require.Equal(t, "Unknown CPU", o.Info().Name)
	reading, err := o.Memory()
	require.NoError(t, err)
	require.Equal(t, device.MemoryReading{TotalBytes: gib, FreeBytes: gib}, reading)
}

// TestNewReadsNothingOfTheMachine creates a driver that reads no file, so that starting the
// library takes no time for it.
func TestNewReadsNothingOfTheMachine(t *testing.T) {
	root := files(t, nil)
	d, err := newDriver(Config{Devices: 2}, noEnv, newSystem(root), mapping.System())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(root+"/proc", 0o755))
	require.NoError(t, os.WriteFile(root+"/proc/meminfo", []byte("MemTotal: 2097152 kB\n"), 0o644))
	infos, err := d.Devices()
	require.NoError(t, err)
	require.Len(t, infos, 2)
	require.EqualValues(t, gib, infos[0].TotalBytes)
	require.NoError(t, os.Remove(root+"/proc/meminfo"))
	require.NoError(t, d.Probe(), "the system is read once")
}

func TestTooLittleMemoryForTheDevices(t *testing.T) {
	s := newSystem(files(t, map[string]string{"proc/meminfo": "MemTotal: 127 kB\n"}))
	d, err := newDriver(Config{Devices: 2}, noEnv, s, mapping.System())
	require.NoError(t, err)
	requireCode(t, device.CodeInvalidConfig, d.Probe(), "130048 bytes", "2 devices")
	_, err = d.Open(0)
	requireCode(t, device.CodeInvalidConfig, err)
}

func TestOpenRejectsUnknownDevices(t *testing.T) {
	d, err := newDriver(Config{Devices: 2}, noEnv, machine(t, nil), mapping.System())
	require.NoError(t, err)
	for _, index := range []int{-1, 2, 1 << 40} {
		_, err = d.Open(index)
		requireCode(t, device.CodeDeviceNotFound, err)
	}
	require.Equal(t, "cpu", d.Backend())
}
