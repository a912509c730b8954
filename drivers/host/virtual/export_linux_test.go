package virtual

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

const envOther = "FERRUM_TEST_HOST_OTHER"

// Another process reads and writes pages of this one. The memory exists as long as one of
// the two processes holds it.
func TestPagesOfAnotherProcess(t *testing.T) {
	const size = 64 << 10
	if os.Getenv(envOther) != "" {
		readsOtherPages(t, size)
		return
	}
	o := openWith(t, mapping.System())
	addr, err := o.Reserve(2*size, size)
	require.NoError(t, err)
	pages := make([]device.Page, 2)
	require.NoError(t, o.Create(pages, size, device.BackingShareable))
	require.NoError(t, o.Map(addr, pages))
	require.NoError(t, o.SetAccess(addr, 2*size, device.AccessReadWrite))
	require.NoError(t, o.FillNow(addr, 3, 2*size))
	child := exec.Command(os.Args[0], "-test.run", "^TestPagesOfAnotherProcess$", "-test.count=1", "-test.v", "-test.timeout=60s")
	child.Env = append(os.Environ(), envOther+"=1")
	for _, p := range pages {
		fd, err := o.ExportPage(p)
		require.NoError(t, err)
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		require.NoError(t, err)
		require.NotZero(t, flags&unix.FD_CLOEXEC, "programs do not inherit it")
		child.ExtraFiles = append(child.ExtraFiles, os.NewFile(uintptr(fd), "page"))
	}
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestPagesOfAnotherProcess")
	for i, want := range []byte{3, 4} {
		_, other, err := o.FirstOther(addr+device.Addr(i*size), want, size)
		require.NoError(t, err)
		require.False(t, other, "page %d", i)
	}
	for _, f := range child.ExtraFiles {
		require.NoError(t, f.Close())
	}
	require.NoError(t, o.Unmap(addr, 2*size))
	require.NoError(t, o.Release(pages))
	require.NoError(t, o.Unreserve(addr, 2*size))
}

func readsOtherPages(t *testing.T, size uint64) {
	o := openWith(t, mapping.System())
	addr, err := o.Reserve(2*size, size)
	require.NoError(t, err)
	pages := make([]device.Page, 2)
	for i := range pages {
		pages[i], err = o.ImportPage(3+i, size)
		require.NoError(t, err)
		require.NoError(t, syscall.Close(3+i))
	}
	require.Zero(t, o.held.Load(), "the pages count for the process that created them")
	require.NoError(t, o.Map(addr, pages))
	require.NoError(t, o.SetAccess(addr, 2*size, device.AccessReadWrite))
	_, other, err := o.FirstOther(addr, 3, 2*size)
	require.NoError(t, err)
	require.False(t, other)
	resident, err := o.Resident(addr, 2*size)
	require.NoError(t, err)
	require.Equal(t, 2*size, resident)
	require.NoError(t, o.FillNow(addr+device.Addr(size), 4, size))
	require.NoError(t, o.Unmap(addr, 2*size))
	require.NoError(t, o.Release(pages))
	require.NoError(t, o.Unreserve(addr, 2*size))
}

// Memory that its owner could shrink, or that cannot be written, is rejected, because an
// access to it could end the process.
func TestImportRejectsMemoryThatMayShrink(t *testing.T) {
	const size = 64 << 10
	o := openWith(t, mapping.System())
	for name, c := range map[string]struct {
		seals int
		words string
	}{
		"not sealed":  {0, "is not a page that was exported"},
		"only growth": {unix.F_SEAL_GROW, "is not a page that was exported"},
		"read only":   {unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE, "may not be written"},
	} {
		fd, err := unix.MemfdCreate("no page", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		require.NoError(t, err)
		require.NoError(t, unix.Ftruncate(fd, size))
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, c.seals)
		require.NoError(t, err)
		_, err = o.ImportPage(fd, size)
		require.Equal(t, device.CodeInvalidArgument, device.CodeOf(err), name)
		require.ErrorContains(t, err, c.words, name)
		require.NoError(t, unix.Close(fd))
	}
	require.NoError(t, o.Close())
}

// Whichever system call fails, nothing changes, no descriptor leaks, and the repeated call
// succeeds.
func TestEverySystemCallOfExportsFailsOnce(t *testing.T) {
	const size = scriptPage
	failures := 0
	for n := 1; ; n++ {
		f := &faulty{err: syscall.EMFILE, left: n}
		s := &script{o: openWith(t, f.mapper())}
		before := openDescriptors(t)
		pages, imported := make([]device.Page, 3), make([]device.Page, 1)
		fd := -1
		failed := false
		for i, step := range []func() error{
			func() (err error) { s.addr, err = s.o.Reserve(16*size, size); return err },
			func() error { return s.o.Create(pages, size, device.BackingShareable) },
			func() (err error) { fd, err = s.o.ExportPage(pages[1]); return err },
			func() (err error) { imported[0], err = s.o.ImportPage(fd, size); return err },
			func() error { return s.o.Map(s.at(0), append(pages[:3:3], imported...)) },
			func() error { return s.o.SetAccess(s.at(0), 4*size, device.AccessReadWrite) },
			func() error { return s.o.FillNow(s.at(1), 9, 2*size) },
			func() error { return s.o.SetAccess(s.at(0), 4*size, device.AccessRead) },
			func() error { return s.o.Unmap(s.at(0), 4*size) },
			func() error { return s.o.Zero(append(pages[:3:3], imported...)) },
			func() error { return s.o.Release(append(pages[:3:3], imported...)) },
			func() error { return s.o.Unreserve(s.addr, 16*size) },
		} {
			counters, open := s.counters(), openDescriptors(t)
			err := step()
			if err == nil {
				continue
			}
			require.False(t, failed, "step %d of failure %d: %v", i, n, err)
			failed = true
			require.ErrorIs(t, err, syscall.EMFILE)
			require.Equal(t, counters, s.counters(), "step %d of failure %d", i, n)
			require.Equal(t, open, openDescriptors(t), "step %d of failure %d", i, n)
			require.NoError(t, step(), "step %d of failure %d, again", i, n)
		}
		require.NoError(t, syscall.Close(fd))
		require.Equal(t, before, openDescriptors(t))
		require.Zero(t, s.o.held.Load())
		require.NoError(t, s.o.Close())
		if !failed && f.left > 0 {
			break
		}
		failures++
	}
	require.Greater(t, failures, 12)
}

// openDescriptors counts the open descriptors of memory files. It ignores descriptors that
// the runtime may open at any time.
func openDescriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	count := 0
	for _, entry := range entries {
		// The descriptor of the folder itself may be closed by now.
		if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.HasPrefix(target, "/memfd:") {
			count++
		}
	}
	return count
}
