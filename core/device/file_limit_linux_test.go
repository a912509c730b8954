package device_test

import (
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
)

// asChild runs the test again in a child process, because a file size limit applies to the
// whole process. In the child, asChild returns a directory for files; in the parent, it
// returns "".
func asChild(t *testing.T) (dir string) {
	if dir = flag.Arg(0); dir != "" {
		return dir
	}
	out, err := exec.Command(os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$", "--", t.TempDir()).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "PASS: "+t.Name())
	return ""
}

func limitFiles(t *testing.T, bytes uint64) {
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &limit))
	limit.Cur = min(bytes, limit.Max)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &limit))
	require.Equal(t, bytes, device.FileSizeLimit())
}

// maskOf returns whether the calling thread blocks SIGXFSZ, and whether that signal is
// pending for the thread.
func maskOf(t *testing.T) (blocked, pending bool) {
	var now unix.Sigset_t
	require.NoError(t, unix.PthreadSigmask(unix.SIG_BLOCK, nil, &now))
	bit := uint64(1) << (uint(unix.SIGXFSZ) - 1)
	content, err := os.ReadFile("/proc/thread-self/status")
	require.NoError(t, err)
	return uint64(now.Val[0])&bit != 0, field(t, content, "SigPnd:")&bit != 0
}

// A write and a truncate beyond the limit fail and do not end the process. The signals of
// the thread stay unchanged, also if the program has blocked the signal and one is pending.
func TestFilesBeyondTheLimit(t *testing.T) {
	dir := asChild(t)
	if dir == "" {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	heard := make(chan os.Signal, 1)
	f, err := os.Create(filepath.Join(dir, "file"))
	require.NoError(t, err)
	limitFiles(t, 8192)
	beyond := func() {
		require.ErrorIs(t, device.WithinFileSizeLimit(func() error {
			_, err := f.WriteAt(make([]byte, 8192), 4096)
			return err
		}), syscall.EFBIG)
		require.ErrorIs(t, device.WithinFileSizeLimit(func() error { return f.Truncate(1 << 20) }), syscall.EFBIG)
	}
	beyond()
	blocked, pending := maskOf(t)
	require.False(t, blocked)
	require.False(t, pending)

	// The handler of the program does not receive the signal of the library's write.
	signal.Notify(heard, syscall.SIGXFSZ)
	beyond()
	require.Empty(t, heard)
	set := unix.Sigset_t{}
	set.Val[0] |= 1 << (uint(unix.SIGXFSZ) - 1)
	require.NoError(t, unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil))
	require.NoError(t, unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGXFSZ))
	beyond()
	blocked, pending = maskOf(t)
	require.True(t, blocked)
	require.True(t, pending, "the signal that the test sent stays pending")
	require.NoError(t, unix.PthreadSigmask(unix.SIG_UNBLOCK, &set, nil))
	require.Equal(t, syscall.SIGXFSZ, <-heard)
	require.NoError(t, device.WithinFileSizeLimit(func() error { return f.Truncate(8192) }))
	require.PanicsWithValue(t, "within", func() { _ = device.WithinFileSizeLimit(func() error { panic("within") }) })
	blocked, _ = maskOf(t)
	require.False(t, blocked)
	require.NoError(t, f.Close())
}

// field returns a hexadecimal field of a /proc status file.
func field(t *testing.T, content []byte, name string) uint64 {
	for line := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			value, err := strconv.ParseUint(strings.TrimSpace(rest), 16, 64)
			require.NoError(t, err)
			return value
		}
	}
	t.Fatalf("no %s", name)
	return 0
}
