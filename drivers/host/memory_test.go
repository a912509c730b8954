package host

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// readingOf creates drivers on a machine with the given available and touched bytes.
func readingOf(t *testing.T, c Config, availableBytes, touchedBytes uint64) []*openDevice {
	page := uint64(os.Getpagesize())
	s := machine(t, map[string]string{
		"proc/meminfo":    fmt.Sprintf("MemTotal: 16777216 kB\nMemAvailable: %d kB\n", availableBytes>>10),
		"proc/self/statm": fmt.Sprintf("1 %d 5 0 0 0 0\n", touchedBytes/page+5),
	})
	d, err := newDriver(c, noEnv, s, mapping.System())
	require.NoError(t, err)
	return openAll(t, d)
}

func freeOf(t *testing.T, o *openDevice) uint64 {
	reading, err := o.Memory()
	require.NoError(t, err)
	require.Equal(t, o.Info().TotalBytes, reading.TotalBytes)
	return reading.FreeBytes
}

func TestFreeMemoryIsBoundedByCapacityAndSystem(t *testing.T) {
	roomy := readingOf(t, Config{MemoryBytes: 4 * gib}, 12*gib, 0)[0]
	require.EqualValues(t, 4*gib, freeOf(t, roomy))
	allocate(t, roomy, gib)
	require.EqualValues(t, 3*gib, freeOf(t, roomy))

	tight := readingOf(t, Config{}, 12*gib, 0)[0]
	require.EqualValues(t, 12*gib, freeOf(t, tight))
	// The memory is promised and not touched, so the system still counts it as available.
	allocate(t, tight, 2*gib)
	require.EqualValues(t, 10*gib, freeOf(t, tight))

	touched := readingOf(t, Config{}, 12*gib, gib)[0]
	allocate(t, touched, 2*gib)
	require.EqualValues(t, 11*gib, freeOf(t, touched))

	forced := readingOf(t, Config{MemoryBytes: 64 * gib, MemoryForced: true}, gib, 0)[0]
	require.EqualValues(t, 64*gib, freeOf(t, forced))
	allocate(t, forced, 8*gib)
	require.EqualValues(t, 56*gib, freeOf(t, forced))
}

func TestAllocFailsAboveTheSystemsMemory(t *testing.T) {
	o := readingOf(t, Config{}, 3*gib, 0)[0]
	first := allocate(t, o, 2*gib)
	_, err := o.Alloc(gib + granularity())
	requireCode(t, device.CodeOutOfMemory, err, "1073807360", "1 GiB available", "capacity of 16 GiB")
	require.EqualValues(t, 2*gib, o.capacity.memory.held.Load())
	allocate(t, o, gib)
	require.Zero(t, freeOf(t, o))
	require.NoError(t, o.Free(first, 2*gib))
	require.EqualValues(t, 2*gib, freeOf(t, o))
}

func TestDevicesShareTheSystemsMemory(t *testing.T) {
	devices := readingOf(t, Config{Devices: 2}, 12*gib, 0)
	require.EqualValues(t, 6*gib, freeOf(t, devices[0]))
	require.EqualValues(t, 6*gib, freeOf(t, devices[1]))
	allocate(t, devices[0], 4*gib)
	// 8 of 12 GiB are left for free capacities of 4 and 8 GiB.
	require.EqualValues(t, 8*gib/3/granularity()*granularity(), freeOf(t, devices[0]))
	require.EqualValues(t, 16*gib/3/granularity()*granularity(), freeOf(t, devices[1]))
}

// TestFreeNeverPromisesMoreThanThereIs tests the rule for random states.
func TestFreeNeverPromisesMoreThanThereIs(t *testing.T) {
	available := uint64(0)
	root := files(t, nil)
	s := newSystem(root)
	rapid.Check(t, func(t *rapid.T) {
		available = rapid.Uint64Range(0, 1<<34).Draw(t, "available") >> 10 << 10
		require.NoError(t, os.MkdirAll(root+"/proc", 0o755))
		require.NoError(t, os.WriteFile(root+"/proc/meminfo", fmt.Appendf(nil, "MemAvailable: %d kB\n", available>>10), 0o644))
		count := rapid.IntRange(1, 5).Draw(t, "devices")
		d, err := newDriver(Config{Devices: count, MemoryBytes: 16 * gib}, noEnv, s, mapping.System())
		require.NoError(t, err)
		var held, sum uint64
		for _, m := range d.memories {
			part := rapid.Uint64Range(0, m.capacity/d.granularity).Draw(t, "held") * d.granularity
			_, ok := m.take(part)
			require.True(t, ok)
			held += part
		}
		for _, m := range d.memories {
			free := d.free(m)
			require.LessOrEqual(t, free, m.free())
			require.Zero(t, free%d.granularity)
			sum += free
		}
		require.LessOrEqual(t, sum, available-min(available, held))
	})
}
