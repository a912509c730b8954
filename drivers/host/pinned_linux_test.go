package host

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
)

// The kernel's account of the process states what is locked.
func TestPinnedMemoryIsLocked(t *testing.T) {
	o := openOne(t)
	const size = 1 << 20
	before := statusBytes(t, "VmLck")
	require.EqualValues(t, before, o.driver.system.lockedBytes())
	made, err := o.AllocPinned(size)
	require.NoError(t, err)
	require.Equal(t, uint64(made.Addr), uint64(made.HostAddr))
	require.EqualValues(t, before+size, statusBytes(t, "VmLck"))
	require.EqualValues(t, before+size, o.driver.system.lockedBytes())
	require.NoError(t, o.FreePinned(made.Addr, size))
	require.EqualValues(t, before, statusBytes(t, "VmLck"))
	_, err = o.AllocPinned(2 << 30)
	requireCode(t, device.CodeOutOfMemory, err, "capacity")
}

// A thread without the capability to lock any amount reaches the limit. The thread ends
// with the test.
func TestTheLimitOnLockedMemoryIsATypedError(t *testing.T) {
	o := openOne(t)
	limit := o.driver.system.memlockLimit()
	if limit == unlimited || limit >= 512<<20 {
		t.Skipf("the bound on locked memory here is %d bytes", limit)
	}
	size := (limit/minGranularityBytes + 1) * minGranularityBytes
	failure := make(chan error)
	device.Go("bounded", func() {
		runtime.LockOSThread()
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			failure <- err
			return
		}
		_, err := o.AllocPinned(size)
		failure <- err
	})
	err := <-failure
	requireCode(t, device.CodeResourceExhausted, err, "RLIMIT_MEMLOCK", "ulimit -l")
	var typed *device.Error
	require.ErrorAs(t, err, &typed)
	require.Contains(t, []int64{int64(syscall.ENOMEM), int64(syscall.EPERM)}, typed.Native)
	require.Zero(t, o.capacity.memory.held.Load())
	require.Contains(t, o.gate.Left(), "0 segments")
}

func TestFailedLockChangesNothing(t *testing.T) {
	f := &failing{lock: syscall.EAGAIN}
	tree := files(t, map[string]string{
		"proc/self/limits": "Max locked memory  8388608  8388608  bytes\n",
		"proc/self/status": "VmLck:\t    4096 kB\n",
		"proc/meminfo":     "MemTotal: 4194304 kB\nMemAvailable: 4194304 kB\n",
	})
	d, err := newDriver(Config{MemoryBytes: gib}, noEnv, newSystem(tree), f.mapper())
	require.NoError(t, err)
	o := openAll(t, d)[0]
	_, err = o.AllocPinned(4 << 20)
	requireCode(t, device.CodeOutOfMemory, err, "size 4194304")
	_, err = o.AllocPinned(4<<20 + minGranularityBytes)
	requireCode(t, device.CodeResourceExhausted, err, "8 MiB, of which 4 MiB")
	f.lock = syscall.EPERM
	_, err = o.AllocPinned(minGranularityBytes)
	requireCode(t, device.CodeResourceExhausted, err, "(RLIMIT_MEMLOCK, ulimit -l) is 8 MiB")
	require.Zero(t, o.capacity.memory.held.Load())
	require.Contains(t, o.gate.Left(), "0 segments")
	f.release = syscall.ENOMEM
	_, err = o.AllocPinned(minGranularityBytes)
	requireCode(t, device.CodeResourceExhausted, err)
	require.EqualValues(t, minGranularityBytes, o.capacity.memory.held.Load(), "memory that could not be unmapped stays held")
	f.release, f.lock = nil, nil
	made, err := o.AllocPinned(minGranularityBytes)
	require.NoError(t, err)
	require.NoError(t, o.FreePinned(made.Addr, minGranularityBytes))
}

func TestPrefetchAllocatesMemory(t *testing.T) {
	both := openSome(t, Config{Devices: 2, MemoryBytes: 1 << 30})
	o := both[0]
	const size = 8 << 20
	addr := allocate(t, o, size)
	view(addr, size)[size/2] = 9
	resident := func() (bytes int) {
		pages := make([]byte, size/os.Getpagesize())
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(addr), size, uintptr(unsafe.Pointer(&pages[0])))
		require.Zero(t, errno)
		for _, page := range pages {
			bytes += int(page&1) * os.Getpagesize()
		}
		return bytes
	}
	require.Less(t, resident(), size)
	require.NoError(t, o.Prefetch(o.DefaultStream(), addr+1, size-2, both[1]))
	require.NoError(t, o.DefaultStream().Synchronize(device.Forever))
	require.Equal(t, size, resident())
	require.EqualValues(t, 9, view(addr, size)[size/2])

	requireCode(t, device.CodeInvalidArgument, o.Prefetch(both[1].DefaultStream(), addr, size, o), "stream")
	requireCode(t, device.CodeUnsupported, o.Prefetch(o.DefaultStream(), addr, size, nil), "target")
	requireCode(t, device.CodeInvalidAddress, o.Prefetch(o.DefaultStream(), addr, size+1, o))
}

// statusBytes returns a field of the kernel's account of the process.
func statusBytes(t *testing.T, field string) int64 {
	content, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			require.NoError(t, err)
			return kib << 10
		}
	}
	t.Fatalf("no %s in /proc/self/status", field)
	return 0
}
