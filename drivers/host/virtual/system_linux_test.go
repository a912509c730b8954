package virtual

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// mappingLine is a line of the kernel's list of the process's mappings.
type mappingLine struct {
	start, end uint64
	// flags are the protection and kind, such as "rw-s".
	flags string
}

// mappingsIn returns the mappings that overlap a range.
func mappingsIn(t require.TestingT, address, size uint64) []mappingLine {
	content, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	var found []mappingLine
	for line := range strings.Lines(string(content)) {
		bounds, rest, _ := strings.Cut(line, " ")
		from, to, _ := strings.Cut(bounds, "-")
		start, err := strconv.ParseUint(from, 16, 64)
		require.NoError(t, err)
		end, err := strconv.ParseUint(to, 16, 64)
		require.NoError(t, err)
		if start < address+size && address < end {
			flags, _, _ := strings.Cut(rest, " ")
			found = append(found, mappingLine{start: start, end: end, flags: flags})
		}
	}
	return found
}

// memoryIn returns how many bytes of memory the mappings of a range have.
func memoryIn(t *testing.T, addr device.Addr, size uint64) (bytes uint64) {
	t.Helper()
	content, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	inside := false
	for line := range strings.Lines(string(content)) {
		var from, to uint64
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			inside = from < uint64(addr)+size && uint64(addr) < to
		}
		if rest, ok := strings.CutPrefix(line, "Rss:"); ok && inside {
			kib, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			require.NoError(t, err)
			bytes += kib << 10
		}
	}
	return bytes
}

func mappingsUnder(t require.TestingT, addr device.Addr, size uint64) int {
	return len(mappingsIn(t, uint64(addr), size))
}

// openVirtual opens a device with pages that are mapped for reading and writing.
func openVirtual(t *testing.T, count int, pageBytes uint64, backing device.Backing) (*opened, device.Addr, []device.Page) {
	t.Helper()
	o := openLarge(t)
	pages := make([]device.Page, count)
	require.NoError(t, o.Create(pages, pageBytes, backing))
	size := uint64(count) * pageBytes
	addr, err := o.Reserve(size, pageBytes)
	require.NoError(t, err)
	require.NoError(t, o.Map(addr, pages))
	require.NoError(t, o.SetAccess(addr, size, device.AccessReadWrite))
	t.Cleanup(func() {
		if o.reservationOf(uint64(addr), size).covered(uint64(addr), size) {
			require.NoError(t, o.Unmap(addr, size))
		}
		if err := o.Release(pages); err != nil {
			requireCode(t, device.CodeInvalidHandle, err, "does not exist")
		}
		require.NoError(t, o.Unreserve(addr, size))
	})
	return o, addr, pages
}

// A page gets memory at the first touch. The memory is released when a private page is
// unmapped or a movable page is released, as the system's own count shows.
func TestReleasedPagesReturnToTheSystem(t *testing.T) {
	const count, size = 16, 16 * benchPage
	for _, backing := range []device.Backing{device.BackingPrivate, device.BackingMovable} {
		o, addr, pages := openVirtual(t, count, benchPage, backing)
		resident := func() uint64 {
			got, err := o.Resident(addr, size)
			require.NoError(t, err)
			return got
		}
		require.Zero(t, resident(), "untouched")
		require.Zero(t, memoryIn(t, addr, size))
		require.NoError(t, o.FillNow(addr, 1, size/2))
		require.EqualValues(t, size/2, resident())
		require.NoError(t, o.FillNow(addr, 1, size))
		require.EqualValues(t, size, resident())
		require.EqualValues(t, size, memoryIn(t, addr, size))
		require.NoError(t, o.Unmap(addr, size))
		require.Zero(t, memoryIn(t, addr, size), "unmapped")
		left := uint64(0)
		if backing == device.BackingMovable {
			left = size
		}
		require.Equal(t, left, o.system.files.bytes(), "movable pages keep theirs")
		require.NoError(t, o.Release(pages))
		require.Zero(t, o.system.files.bytes())
	}
}

// Adjacent pages that were created together are one mapping. Ranges that are mapped and
// unmapped leave no mapping behind.
func TestAdjacentPagesAreOneMapping(t *testing.T) {
	for _, backing := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
		const count = 256
		o, addr, pages := openVirtual(t, count, scriptPage, backing)
		require.LessOrEqual(t, mappingsUnder(t, addr, count*scriptPage), 2)
		require.NoError(t, o.Unmap(addr, count*scriptPage))
		for round := range 3 {
			for i := range count {
				at := addr + device.Addr(uint64(i*7%count)*scriptPage)
				require.NoError(t, o.Map(at, pages[i:i+1]))
				require.NoError(t, o.SetAccess(at, scriptPage, device.AccessReadWrite))
				require.NoError(t, o.FillNow(at, byte(round), scriptPage))
			}
			for i := range count {
				require.NoError(t, o.Unmap(addr+device.Addr(uint64(i*3%count)*scriptPage), scriptPage))
			}
			require.LessOrEqual(t, mappingsUnder(t, addr, count*scriptPage), 3, "backing %d", backing)
		}
	}
}

// At the limit on mappings the call returns a typed error that names the limit, before the
// process itself runs out of mappings, and nothing has changed.
func TestTheLimitOnMappingsIsATypedError(t *testing.T) {
	bound := maxMappings(t)
	if bound == 0 || bound > 100_000 {
		t.Skipf("vm.max_map_count is %d: too many to reach here", bound)
	}
	count := int(bound)
	o := openWith(t, mapping.System())
	o.bytes = 16 * gib
	pages := make([]device.Page, 2*count)
	require.NoError(t, o.Create(pages, scriptPage, device.BackingMovable))
	apart := make([]device.Page, count)
	for i := range apart {
		apart[i] = pages[2*i]
	}
	size := uint64(count) * scriptPage
	addr, err := o.Reserve(size, scriptPage)
	require.NoError(t, err)
	require.NoError(t, o.Map(addr, apart))
	before := mappingsUnder(t, addr, size)
	many := uint64(count) / 8 * 7
	require.NoError(t, o.SetAccess(addr, many*scriptPage, device.AccessReadWrite))
	require.NoError(t, o.FillNow(addr, 5, 4*scriptPage))
	rest := addr + device.Addr(many*scriptPage)
	requireCode(t, device.CodeResourceExhausted, o.SetAccess(rest, 100*scriptPage, device.AccessRead),
		"vm.max_map_count is "+fmt.Sprint(bound))
	requireCode(t, device.CodePermissionDenied, o.FillNow(rest, 5, scriptPage))
	require.NoError(t, o.SetAccess(addr+device.Addr((many-200)*scriptPage), 200*scriptPage, device.AccessNone))
	require.NoError(t, o.SetAccess(rest, 100*scriptPage, device.AccessRead))
	_, other, err := o.FirstOther(addr, 5, 4*scriptPage)
	require.NoError(t, err)
	require.False(t, other)
	require.NoError(t, o.Unmap(addr, size))
	require.Zero(t, o.system.mappings.count.Load())
	require.Equal(t, before, mappingsUnder(t, addr, size))
	require.NoError(t, o.Release(pages))
	require.NoError(t, o.Unreserve(addr, size))
	require.NoError(t, o.Close())
}

// The count of mappings equals the number in the system.
func TestMappingCountEqualsTheSystems(t *testing.T) {
	const count = 12
	o, addr, pages := openVirtual(t, count, scriptPage, device.BackingMovable)
	private := make([]device.Page, count)
	require.NoError(t, o.Create(private, scriptPage, device.BackingPrivate))
	shareable := make([]device.Page, count)
	require.NoError(t, o.Create(shareable, scriptPage, device.BackingShareable))
	require.NoError(t, o.Unmap(addr, count*scriptPage))
	rapid.Check(t, func(t *rapid.T) {
		place := func(i int) device.Addr { return addr + device.Addr(uint64(i)*scriptPage) }
		mapped := map[int]bool{}
		for range 20 {
			i := rapid.IntRange(0, count-1).Draw(t, "place")
			if !mapped[i] {
				from := rapid.SampledFrom([][]device.Page{pages, private, shareable}).Draw(t, "backing")
				mapped[i] = o.Map(place(i), from[(i+rapid.IntRange(0, 1).Draw(t, "page"))%count:][:1]) == nil
			} else if rapid.IntRange(0, 3).Draw(t, "unmap") == 0 {
				require.NoError(t, o.Unmap(place(i), scriptPage))
				mapped[i] = false
			} else {
				n := 1
				for mapped[i+n] && rapid.Bool().Draw(t, "more") {
					n++
				}
				access := device.Access(rapid.IntRange(0, 2).Draw(t, "access"))
				require.NoError(t, o.SetAccess(place(i), uint64(n)*scriptPage, access))
			}
			require.EqualValues(t, mappingsUnder(t, addr, count*scriptPage), o.system.mappings.count.Load()+1)
		}
		for i, there := range mapped {
			if there {
				require.NoError(t, o.Unmap(place(i), scriptPage))
			}
		}
		require.Zero(t, o.system.mappings.count.Load())
	})
	require.NoError(t, o.Release(slices.Concat(private, shareable)))
}

const childVariable = "FERRUM_HOST_TEST_FORK"

// A forked child does not see later writes of its parent. The test runs in a separate
// process, because the forked child can only make system calls.
func TestForkedChildDoesNotSeeLaterWrites(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		command := exec.Command(os.Args[0], "-test.run=^TestForkedChildDoesNotSeeLaterWrites$", "-test.v")
		command.Env = append(os.Environ(), childVariable+"=1")
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "seen by the child")
		return
	}
	for backing, want := range map[device.Backing]string{device.BackingPrivate: "before", device.BackingMovable: "EFAULT"} {
		_, addr, _ := openVirtual(t, 2, scriptPage, backing)
		copy(view(addr, 6), "before")
		seen := seenByChild(t, uint64(addr), 6, func() { copy(view(addr, 6), "after!") })
		require.Equal(t, want, seen)
		require.Equal(t, "after!", string(view(addr, 6)))
	}
	t.Log("seen by the child: nothing written after the fork")
}

// seenByChild forks, writes, and then lets the child write its memory into a pipe.
func seenByChild(t *testing.T, address, size uint64, write func()) string {
	var start, result [2]int
	require.NoError(t, unix.Pipe(start[:]))
	require.NoError(t, unix.Pipe(result[:]))
	child, errno := forkAndShow(start[0], result[1], address, size)
	require.Zero(t, errno)
	write()
	_, err := unix.Write(start[1], []byte{1})
	require.NoError(t, err)
	var status unix.WaitStatus
	_, err = mapping.UntilNotInterrupted(func() (int, error) { return unix.Wait4(child, &status, 0, nil) })
	require.NoError(t, err)
	require.True(t, status.Exited(), "the child must have ended: %v", status)
	if number := syscall.Errno(status.ExitStatus()); number != 0 {
		return unix.ErrnoName(number)
	}
	got := make([]byte, size)
	n, err := unix.Read(result[0], got)
	require.NoError(t, err)
	return string(got[:n])
}

// forkAndShow forks a child that waits for a byte and writes memory to a file. The exit
// status of the child is the error number of that. The child must not call anything that
// needs the runtime.
//
//go:norace
//go:nocheckptr
func forkAndShow(start, result int, address, size uint64) (int, syscall.Errno) {
	var one byte
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return int(pid), errno
	}
	syscall.RawSyscall(unix.SYS_READ, uintptr(start), uintptr(unsafe.Pointer(&one)), 1)
	_, _, errno = syscall.RawSyscall(unix.SYS_WRITE, uintptr(result), uintptr(address), uintptr(size))
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
	}
}
