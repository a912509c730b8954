package host

import (
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

func TestSegmentsAreAlignedAndZero(t *testing.T) {
	o := openOne(t)
	for _, size := range []uint64{64 << 10, 128 << 10, 2<<20 - 64<<10, 2 << 20, 2<<20 + 64<<10, 8 << 20} {
		addr := allocate(t, o, size)
		align := o.Info().AlignmentBytes
		if size >= mapping.HugePageBytes {
			align = mapping.HugePageBytes
		}
		require.Zero(t, uint64(addr)%align, size)
		bytes := view(addr, size)
		for _, at := range []uint64{0, size / 2, size - 1} {
			require.Zero(t, bytes[at])
			bytes[at] = 1
		}
	}
}

func TestAllocRejectsBadSizes(t *testing.T) {
	o := openOne(t)
	for _, size := range []uint64{0, 1, 4096, 64<<10 + 1, math.MaxUint64} {
		_, err := o.Alloc(size)
		requireCode(t, device.CodeInvalidSize, err, fmt.Sprint(size), "cpu:0")
	}
	// The largest multiple of the granularity.
	_, err := o.Alloc(math.MaxUint64 - granularity() + 1)
	requireCode(t, device.CodeOutOfMemory, err)
}

func TestCapacityIsExact(t *testing.T) {
	o := openSome(t, Config{Devices: 1, MemoryBytes: 1 << 20})[0]
	first := allocate(t, o, 1<<20-64<<10)
	second := allocate(t, o, 64<<10)
	_, err := o.Alloc(64 << 10)
	requireCode(t, device.CodeOutOfMemory, err, "size 65536", " 0 bytes", "1 MiB")
	require.NoError(t, o.Free(second, 64<<10))
	_, err = o.Alloc(128 << 10)
	requireCode(t, device.CodeOutOfMemory, err, "size 131072", " 64 KiB of", "1 MiB")
	allocate(t, o, 64<<10)
	require.NoError(t, o.Free(first, 1<<20-64<<10))
	reading, err := o.Memory()
	require.NoError(t, err)
	require.Equal(t, device.MemoryReading{TotalBytes: 1 << 20, FreeBytes: 1<<20 - 64<<10}, reading)
}

func TestCapacityIsExactUnderContention(t *testing.T) {
	o := openSome(t, Config{Devices: 1, MemoryBytes: 1 << 20})[0]
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 200 {
				addr, err := o.Alloc(320 << 10)
				if err != nil {
					require.Equal(t, device.CodeOutOfMemory, device.CodeOf(err))
					continue
				}
				require.LessOrEqual(t, o.capacity.memory.held.Load(), uint64(1<<20))
				require.NoError(t, o.Free(addr, 320<<10))
			}
		})
	}
	wait.Wait()
	require.Zero(t, o.capacity.memory.held.Load())
	allocate(t, o, 1<<20)
}

func TestTwoOpensShareOnlyTheCapacity(t *testing.T) {
	d, err := newDriver(Config{MemoryBytes: 1 << 20}, noEnv, newSystem("/"), mapping.System())
	require.NoError(t, err)
	one, other := openAll(t, d)[0], openAll(t, d)[0]
	addr := allocate(t, one, 1<<20)
	_, err = other.Alloc(64 << 10)
	requireCode(t, device.CodeOutOfMemory, err)
	requireCode(t, device.CodeInvalidAddress, other.Free(addr, 1<<20))
	requireCode(t, device.CodeInvalidAddress, other.DefaultStream().Fill(addr, device.Pattern{WidthBytes: 1}, 1))
	require.NoError(t, one.Free(addr, 1<<20))
	allocate(t, other, 1<<20)
}

func TestFreeRejectsWhatAllocDidNotReturn(t *testing.T) {
	o := openOne(t)
	addr := allocate(t, o, 4<<20)
	bytes := view(addr, 4<<20)
	bytes[0] = 42
	for _, bad := range []struct {
		addr device.Addr
		size uint64
	}{
		{0, 4 << 20}, {addr + 1, 4 << 20}, {addr + 64<<10, 64 << 10}, {addr, 2 << 20}, {addr, 8 << 20}, {addr, 0},
		{math.MaxUint64, 1}, {addr - 64<<10, 64 << 10},
	} {
		requireCode(t, device.CodeInvalidAddress, o.Free(bad.addr, bad.size), fmt.Sprintf("%#x", uint64(bad.addr)))
	}
	require.EqualValues(t, 42, bytes[0])
	require.EqualValues(t, 4<<20, o.capacity.memory.held.Load())
	require.NoError(t, o.Free(addr, 4<<20))
	requireCode(t, device.CodeInvalidAddress, o.Free(addr, 4<<20))
	require.Zero(t, o.capacity.memory.held.Load())
}

// TestFreedMemoryReturnsToTheSystem reads the kernel's account of the process, not the
// counters of the driver.
func TestFreedMemoryReturnsToTheSystem(t *testing.T) {
	if _, err := os.Stat("/proc/self/smaps"); err != nil {
		t.Skip("no /proc/self/smaps on this system")
	}
	o := openOne(t)
	const size = 96 << 20
	before := o.driver.system.anonymousResident()
	addr := allocate(t, o, size)
	require.Less(t, o.driver.system.anonymousResident(), before+size/2, "untouched memory must not exist")
	require.NoError(t, o.DefaultStream().Fill(addr, device.Pattern{Value: 0x5a, WidthBytes: 1}, size))
	require.NoError(t, o.DefaultStream().Synchronize(device.Forever))
	require.Greater(t, o.driver.system.anonymousResident(), before+size*9/10)
	require.NoError(t, o.Free(addr, size))
	require.Less(t, o.driver.system.anonymousResident(), before+size/4)
	require.False(t, mapped(t, uint64(addr)), "the mapping must be gone")
}

// mapped states whether /proc/self/smaps shows a mapping at the address.
func mapped(t *testing.T, address uint64) bool {
	content, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	for line := range strings.Lines(string(content)) {
		var start, end uint64
		if n, _ := fmt.Sscanf(line, "%x-%x ", &start, &end); n == 2 && start <= address && address < end {
			return true
		}
	}
	return false
}

func TestOnlyTheSegmentIsMapped(t *testing.T) {
	real := mapping.System()
	counting := real
	var sum int64
	counting.Reserve = func(size uint64) (uint64, error) {
		sum += int64(size)
		return real.Reserve(size)
	}
	counting.Release = func(address, size uint64) error {
		sum -= int64(size)
		return real.Release(address, size)
	}
	d, err := newDriver(Config{MemoryBytes: gib}, noEnv, newSystem("/"), counting)
	require.NoError(t, err)
	o := openAll(t, d)[0]
	for _, size := range []uint64{64 << 10, 2 << 20, 6<<20 + 64<<10} {
		addr := allocate(t, o, size)
		require.EqualValues(t, size, sum)
		require.NoError(t, o.Free(addr, size))
		require.Zero(t, sum)
	}
}

// failing is a set of system calls that fail on demand.
type failing struct {
	reserve, release, lock error
	calls                  int
}

func (f *failing) mapper() mapping.Calls {
	real := mapping.System()
	return mapping.Calls{
		Reserve: func(size uint64) (uint64, error) {
			f.calls++
			if f.reserve != nil {
				return 0, f.reserve
			}
			return real.Reserve(size)
		},
		Release: func(address, size uint64) error {
			if f.release != nil {
				return f.release
			}
			return real.Release(address, size)
		},
		Lock: func(address, size uint64) error {
			if f.lock != nil {
				return f.lock
			}
			return real.Lock(address, size)
		},
		AdviseHuge: real.AdviseHuge,
	}
}

func TestFailedMapChangesNothing(t *testing.T) {
	for number, code := range map[syscall.Errno]device.Code{
		syscall.ENOMEM: device.CodeOutOfMemory, syscall.EPERM: device.CodeMappingFailed,
		syscall.EAGAIN: device.CodeMappingFailed,
	} {
		f := &failing{reserve: number}
		d, err := newDriver(Config{MemoryBytes: gib}, noEnv, newSystem("/"), f.mapper())
		require.NoError(t, err)
		o := openAll(t, d)[0]
		_, err = o.Alloc(1 << 20)
		requireCode(t, code, err, "size 1048576", "1 GiB of the capacity of 1 GiB")
		var typed *device.Error
		require.ErrorAs(t, err, &typed)
		require.EqualValues(t, number, typed.Native)
		require.Equal(t, "cpu:0", typed.Device)
		require.ErrorIs(t, err, number)
		require.Equal(t, 1, f.calls)

		f.reserve = nil
		require.Zero(t, o.capacity.memory.held.Load())
		require.Contains(t, o.gate.Left(), "0 segments")
		allocate(t, o, gib)
	}
}

func TestFailedUnmapKeepsTheSegment(t *testing.T) {
	f := &failing{}
	d, err := newDriver(Config{MemoryBytes: gib}, noEnv, newSystem("/"), f.mapper())
	require.NoError(t, err)
	o := openAll(t, d)[0]
	addr := allocate(t, o, 1<<20)
	view(addr, 1<<20)[7] = 7
	f.release = syscall.ENOMEM
	err = o.Free(addr, 1<<20)
	requireCode(t, device.CodeUnmappingFailed, err, "size 1048576")
	var typed *device.Error
	require.ErrorAs(t, err, &typed)
	require.EqualValues(t, syscall.ENOMEM, typed.Native)

	require.EqualValues(t, 1<<20, o.capacity.memory.held.Load())
	requireCode(t, device.CodeBusy, o.Close())
	require.NoError(t, o.DefaultStream().Fill(addr, device.Pattern{Value: 8, WidthBytes: 1}, 7))
	require.NoError(t, o.DefaultStream().Synchronize(device.Forever))
	require.EqualValues(t, []byte{8, 7}, view(addr, 1<<20)[6:8])
	f.release = nil
	require.NoError(t, o.Free(addr, 1<<20))
}

// TestSegmentWithEndsThatCannotBeUnmapped: the segment is usable, and all of it is released
// when it is freed.
func TestSegmentWithEndsThatCannotBeUnmapped(t *testing.T) {
	var sum int64
	refuse := true
	real := mapping.System()
	m := mapping.Calls{
		Reserve: func(size uint64) (uint64, error) {
			sum += int64(size)
			return real.Reserve(size)
		},
		Release: func(address, size uint64) error {
			if refuse {
				return syscall.ENOMEM
			}
			sum -= int64(size)
			return real.Release(address, size)
		},
		AdviseHuge: real.AdviseHuge,
	}
	d, err := newDriver(Config{MemoryBytes: gib}, noEnv, newSystem("/"), m)
	require.NoError(t, err)
	o := openAll(t, d)[0]
	addr := allocate(t, o, 4<<20)
	require.Zero(t, uint64(addr)%mapping.HugePageBytes)
	view(addr, 4<<20)[4<<20-1] = 1
	requireCode(t, device.CodeInvalidAddress, o.DefaultStream().Fill(addr+4<<20, device.Pattern{WidthBytes: 1}, 1))
	refuse = false
	require.NoError(t, o.Free(addr, 4<<20))
	require.Zero(t, sum)
}
