package vmm

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// Tests that change a whole process run in a child process: this test program again,
// with one test and a directory.

// childOf returns the argument of a child; "": this is not a child.
func childOf() string { return flag.Arg(0) }

// asChild runs a test in its own child process, and returns its output.
func asChild(t *testing.T, dir string, change func(*exec.Cmd)) (string, error) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$", "--", dir)
	if change != nil {
		change(child)
	}
	var out bytes.Buffer
	child.Stdout, child.Stderr = &out, &out
	err := child.Run()
	return out.String(), err
}

// files lists the files of a directory.
func files(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// fullRig is a pool of 32 pages that are all written.
func fullRig(t *testing.T) *rig {
	r := newRig(t, backed(devicetest.Config{}), nil)
	keep(r.pool.physical, r.dev)
	r.pool.physical.keepers.ChunkBytes = 2 * page
	_, err := r.pool.AllocTagged(AllocRequest{SizeBytes: 28 * page, Tag: "weights"})
	require.NoError(t, err)
	_, err = r.pool.AllocTagged(AllocRequest{OffsetBytes: 28 * page, SizeBytes: 4 * page, Tag: "kv"})
	require.NoError(t, err)
	r.fill(t, 0, 28, 3)
	r.fill(t, 28, 4, 9)
	return r
}

// A disk of 1 MiB for 2 MiB of contents. The pages that were copied are restored from
// the file, which is removed; a smaller sleep then succeeds.
func TestSleepOnAFullDisk(t *testing.T) {
	dir := childOf()
	if dir == "" {
		out, err := asChild(t, t.TempDir(), func(c *exec.Cmd) {
			c.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
			}
		})
		if strings.Contains(out, "SKIP") || namespaceRefused(err) {
			t.Skipf("this system gives no mount namespace to a process: %v\n%s", err, out)
		}
		require.NoError(t, err, out)
		require.Contains(t, out, "PASS: "+t.Name())
		return
	}
	if err := syscall.Mount("ferrum", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no tmpfs can be mounted: %v", err)
	}
	r := fullRig(t)
	for _, streams := range []int{1, 3} {
		request := SleepRequest{Backing: SleepToFile, Dir: dir, Streams: streams}
		_, err := r.pool.Sleep(background, request)
		require.ErrorIs(t, err, device.CodeResourceExhausted)
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.ErrorContains(t, err, dir)
		r.check(t)
		require.Equal(t, 32*page, r.pool.PhysicalBytes())
		r.holds(t, 0, 28, 3)
		r.holds(t, 28, 4, 9)
		require.Empty(t, files(t, dir))
		request.Tag = "kv"
		_, err = r.pool.Sleep(background, request)
		require.NoError(t, err)
		_, err = r.pool.Wake(background, WakeRequest{})
		require.NoError(t, err)
		r.holds(t, 28, 4, 9)
		require.Empty(t, files(t, dir))
	}
	r.quit(t)
}

func namespaceRefused(err error) bool {
	return err != nil && (os.IsPermission(err) || strings.Contains(err.Error(), "not permitted") ||
		strings.Contains(err.Error(), "no space left") || strings.Contains(err.Error(), "invalid argument"))
}

// A directory in which the process may not create a file.
func TestSleepWhereNoFileMayBeMade(t *testing.T) {
	dir := childOf()
	if dir == "" {
		dir = t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o500))
		out, err := asChild(t, dir, nil)
		require.NoError(t, err, out)
		require.Contains(t, out, "PASS: "+t.Name())
		return
	}
	if os.Getuid() == 0 {
		// Root may do everything, so the child becomes another user from here on.
		require.NoError(t, syscall.Setgroups(nil))
		require.NoError(t, syscall.Setgid(65534))
		require.NoError(t, syscall.Setuid(65534))
	}
	r := fullRig(t)
	_, err := r.pool.Sleep(background, SleepRequest{Backing: SleepToFile, Dir: dir})
	require.ErrorIs(t, err, device.CodePermissionDenied)
	require.ErrorContains(t, err, dir)
	r.check(t)
	r.holds(t, 0, 28, 3)
	_, err = r.pool.Sleep(background, SleepRequest{})
	require.NoError(t, err)
	r.quit(t)
}

// A killed process leaves its file behind. The next process removes it, and leaves the
// files of running processes and other files.
func TestFilesOfDeadProcessesAreRemoved(t *testing.T) {
	dir := childOf()
	if dir != "" {
		_, err := fullRig(t).pool.Sleep(background, SleepRequest{Backing: SleepToFile, Dir: dir})
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
		select {}
	}
	dir = t.TempDir()
	alive := fullRig(t)
	report, err := alive.pool.Sleep(background, SleepRequest{Backing: SleepToFile, Dir: dir, Tag: "weights"})
	require.NoError(t, err)
	others := filepath.Join(dir, "ferrum-sleep.txt")
	require.NoError(t, os.WriteFile(others, nil, 0o600))
	require.NoError(t, os.Symlink(others, filepath.Join(dir, "ferrum-sleep-link")))
	_, err = asChild(t, dir, nil)
	var killed *exec.ExitError
	require.ErrorAs(t, err, &killed)
	require.Len(t, files(t, dir), 4, "two files of sleeping pools and two other files")
	second, err := alive.pool.Sleep(background, SleepRequest{Backing: SleepToFile, Dir: dir, Tag: "kv"})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		filepath.Base(report.Path), filepath.Base(second.Path), "ferrum-sleep.txt", "ferrum-sleep-link",
	}, files(t, dir))
	_, err = alive.pool.Wake(background, WakeRequest{})
	require.NoError(t, err)
	alive.holds(t, 0, 28, 3)
	alive.holds(t, 28, 4, 9)
	require.ElementsMatch(t, []string{"ferrum-sleep.txt", "ferrum-sleep-link"}, files(t, dir))
	alive.quit(t)
}

// The directory is removed while the model sleeps. The process still has the file, and
// Wake restores all bytes.
func TestWakeAfterItsDirectoryWasRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	require.NoError(t, os.Mkdir(dir, 0o700))
	r := fullRig(t)
	_, err := r.pool.Sleep(background, SleepRequest{Backing: SleepToFile, Dir: dir})
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	_, err = r.pool.Wake(background, WakeRequest{})
	require.NoError(t, err)
	r.holds(t, 0, 28, 3)
	r.holds(t, 28, 4, 9)
	require.Zero(t, r.engine.Asleep())
	r.check(t)
	_, err = r.pool.Sleep(background, SleepRequest{Backing: SleepToFile, Dir: dir})
	require.ErrorIs(t, err, device.CodeIO)
	require.ErrorContains(t, err, dir)
	r.quit(t)
}
