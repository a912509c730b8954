//go:build linux

package probe_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/core/discover"
)

// forbidPrograms installs a filter with which the system rejects every start of a program,
// on all threads and for the rest of the life of this process. Sandboxes do the same.
func forbidPrograms(t *testing.T) {
	t.Helper()
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		giveUp = unix.BPF_RET | unix.BPF_K
	)
	filter := []unix.SockFilter{
		{Code: load, K: 0}, // the number of the system call
		{Code: equal, Jt: 2, K: unix.SYS_EXECVE},
		{Code: equal, Jt: 1, K: unix.SYS_EXECVEAT},
		{Code: giveUp, K: unix.SECCOMP_RET_ALLOW},
		{Code: giveUp, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.NoError(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	_, _, number := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if number != 0 {
		t.Skipf("this system has no such filter: %v", number)
	}
	require.ErrorIs(t, exec.Command("/bin/true").Run(), syscall.EPERM)
}

// If no program may be started, the report states that reason with its error number. The
// driver can still be queried in this process.
func TestSystemThatForbidsPrograms(t *testing.T) {
	simulated := world{backend: "cuda", kind: "whole"}
	if inProcessOfItsOwn(t, func(c *exec.Cmd) { c.Env = append(c.Env, simulated.environ()...) }) {
		return
	}
	forbidPrograms(t)
	look := func() {
		requireAbsent(t, simulated.look(t), device.AbsenceHelper, int64(syscall.EPERM),
			"cannot be started", "operation not permitted", helper(), "FERRUM_PROBE=in_process to probe without it")
	}
	// The first survey opens the files that the process keeps.
	look()
	files := openFiles(t)
	look()
	require.Empty(t, children(t))
	require.LessOrEqual(t, openFiles(t), files)

	simulated.isolation.Mode = discover.ModeInProcess
	require.Len(t, simulated.look(t).Devices, 2)
}

// The helper lies on a mount from which no program may run.
func TestHelperOnAMountWithoutPrograms(t *testing.T) {
	if inProcessOfItsOwn(t, func(c *exec.Cmd) {
		own := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
		c.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: own(os.Getuid()), GidMappings: own(os.Getgid()),
		}
	}) {
		return
	}
	folder := t.TempDir()
	if err := unix.Mount("none", folder, "tmpfs", unix.MS_NOEXEC, ""); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	defer func() { require.NoError(t, unix.Unmount(folder, 0)) }()
	program, err := os.ReadFile(helper())
	require.NoError(t, err)
	there := filepath.Join(folder, "ferrum-mem-probe")
	require.NoError(t, os.WriteFile(there, program, 0o755))

	for _, isolation := range []discover.Isolation{{Helper: there}, {Candidates: []string{there}}} {
		found := world{backend: "cuda", kind: "whole", isolation: isolation}.look(t)
		requireAbsent(t, found, device.AbsenceHelper, int64(syscall.EACCES), there, "permission denied", "FERRUM_PROBE=in_process")
		require.Equal(t, 1, strings.Count(found.Reason(), there))
	}
}
