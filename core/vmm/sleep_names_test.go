package vmm

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/sleep"
)

// Files of what sleeps lie in a directory that others use as well: what is not ours stays
// as it is, whatever it is called.

// The program has put another file in place of the file: the bytes wake, and the other
// file stays.
func TestWakeKeepsOtherFilesWithItsFileName(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"another file": func(path string) error {
			if err := os.WriteFile(path+"~", []byte("the program's"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+"~", path)
		},
		"a link": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Symlink("/dev/null", path)
		},
		"a folder": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o700)
		},
		"a copy": func(path string) error {
			bytes, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path+"~", bytes, 0o600); err != nil {
				return err
			}
			return os.Rename(path+"~", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := fullRig(t)
			report, err := r.pool.Sleep(background, SleepRequest{Backing: SleepToFile, Dir: dir})
			require.NoError(t, err)
			require.NoError(t, replace(report.Path))
			before, err := os.Lstat(report.Path)
			require.NoError(t, err)
			_, err = r.pool.Wake(background, WakeRequest{})
			require.NoError(t, err)
			r.holds(t, 0, 28, 3)
			r.holds(t, 28, 4, 9)
			after, err := os.Lstat(report.Path)
			require.NoError(t, err)
			require.True(t, os.SameFile(before, after))
			require.Equal(t, []string{filepath.Base(report.Path)}, files(t, dir))
			require.Zero(t, r.engine.Asleep())
			r.check(t)
			r.quit(t)
		})
	}
}

// A process may write only files of a limited size. The call fails before a byte is
// copied; if the limit is reached during the copies, they are undone. It never ends the
// process.
func TestSleepAboveTheFileSizeLimitFails(t *testing.T) {
	dir := childOf()
	if dir == "" {
		out, err := asChild(t, t.TempDir(), nil)
		require.NoError(t, err, out)
		require.Contains(t, out, "PASS: "+t.Name())
		return
	}
	var whole unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &whole))
	bound := func(bytes uint64) {
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: whole.Max}))
	}
	r := fullRig(t)
	copies, lowersAt := 0, 0
	keepers := &r.pool.physical.keepers
	open := keepers.OpenFile
	keepers.OpenFile = func(dir string) (sleep.File, error) {
		f, err := open(dir)
		return watchedFile{f, func() {
			if copies++; copies == lowersAt {
				bound(5*page + page/2)
			}
		}}, err
	}
	refused := func() {
		_, err := r.pool.Sleep(background, SleepRequest{Backing: SleepToFile, Dir: dir, Streams: 1})
		require.ErrorIs(t, err, device.CodeResourceExhausted)
		require.ErrorContains(t, err, dir)
		var e *device.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, int64(syscall.EFBIG), e.Native)
		bound(whole.Cur)
		r.check(t)
		require.Equal(t, 32*page, r.pool.PhysicalBytes())
		r.holds(t, 0, 28, 3)
		r.holds(t, 28, 4, 9)
		require.Empty(t, files(t, dir))
	}
	for _, bytes := range []uint64{0, 4095, 31 * page} {
		bound(bytes)
		refused()
		require.Zero(t, copies)
	}
	for _, lowersAt = range []int{1, 2, 7} {
		copies = 0
		refused()
		require.GreaterOrEqual(t, copies, lowersAt)
	}
	lowersAt = 0
	_, err := r.pool.Sleep(background, SleepRequest{Backing: SleepToFile, Dir: dir, Streams: 1})
	require.NoError(t, err)
	// Data written before can be read under any limit.
	bound(0)
	_, err = r.pool.Wake(background, WakeRequest{})
	bound(whole.Cur)
	require.NoError(t, err)
	r.holds(t, 0, 28, 3)
	r.quit(t)
}

// watchedFile calls a function before it writes.
type watchedFile struct {
	sleep.File
	writes func()
}

func (f watchedFile) WriteAt(bytes []byte, at int64) (int, error) {
	f.writes()
	return f.File.WriteAt(bytes, at)
}
