package vmm

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
)

// Files of what sleeps lie in a directory that others use as well: what is not ours stays
// as it is, whatever it is called.

// put makes a file with some content.
func put(t *testing.T, dir, name, content string) string {
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func content(t *testing.T, path string) string {
	bytes, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(bytes)
}

func TestOnlyWhatIsOursAndLeftBehindIsRemoved(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	stays := map[string]string{
		"ferrum-sleep-notes.txt": "not to be lost", "ferrum-sleep-": "", "ferrum-sleep-empty": "",
		"ferrum-sleep-short": fileMagic[:len(fileMagic)-1], "ferrum-sleep-1234567": "\x89FERRUM-SLEEP\r\n\x1b and more",
		"sleep": fileMagic,
	}
	for name, text := range stays {
		put(t, dir, name, text)
	}
	// What leads elsewhere, and what cannot be read like a file.
	target := put(t, elsewhere, "ferrum-sleep-target", fileMagic)
	require.NoError(t, os.Symlink(target, filepath.Join(dir, "ferrum-sleep-link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "ferrum-sleep-pipe"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "ferrum-sleep-folder"), 0o700))
	// Somebody has the lock, so somebody lives.
	held := put(t, dir, "ferrum-sleep-held", fileMagic+"...")
	owner, err := os.Open(held)
	require.NoError(t, err)
	require.True(t, lock(owner))
	put(t, dir, "ferrum-sleep-left", fileMagic)
	put(t, dir, "ferrum-sleep-left-too", fileMagic+"and what slept")

	removeLeftovers(dir)
	for name, text := range stays {
		require.Equal(t, text, content(t, filepath.Join(dir, name)), name)
	}
	require.Equal(t, fileMagic, content(t, target))
	require.ElementsMatch(t, []string{
		"ferrum-sleep-notes.txt", "ferrum-sleep-", "ferrum-sleep-empty", "ferrum-sleep-short", "ferrum-sleep-1234567", "sleep",
		"ferrum-sleep-link", "ferrum-sleep-pipe", "ferrum-sleep-folder", "ferrum-sleep-held",
	}, files(t, dir))
	// The same file once its owner is gone, whoever has the number of that process now.
	require.NoError(t, owner.Close())
	removeLeftovers(dir)
	require.NotContains(t, files(t, dir), "ferrum-sleep-held")
}

// The program has put something of its own where the file was: the bytes wake, and what
// is there stays.
func TestWakeLeavesWhatIsNotItsFile(t *testing.T) {
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

// A directory in which a process may write, and only so much: the call is refused before
// a byte is copied, and where the bound comes in the middle of the copies, undone then.
// It never ends the process.
func TestSleepBeyondTheSizeOfFiles(t *testing.T) {
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
	open := keepers.openFile
	keepers.openFile = func(dir string) (file, error) {
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
	// What was written before may be read under any bound.
	bound(0)
	_, err = r.pool.Wake(background, WakeRequest{})
	bound(whole.Cur)
	require.NoError(t, err)
	r.holds(t, 0, 28, 3)
	r.quit(t)
}

// watchedFile tells before it writes.
type watchedFile struct {
	file
	writes func()
}

func (f watchedFile) WriteAt(bytes []byte, at int64) (int, error) {
	f.writes()
	return f.file.WriteAt(bytes, at)
}
