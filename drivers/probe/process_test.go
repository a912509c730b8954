//go:build linux

package probe_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/discover"
	"ferrum_mem/drivers"
)

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// children returns the child processes of this process, including zombies.
func children(t *testing.T) []string {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	var all []string
	for _, path := range tasks {
		// A thread may have ended meanwhile.
		if text, err := os.ReadFile(path); err == nil {
			all = append(all, strings.Fields(string(text))...)
		}
	}
	return all
}

// A thousand surveys leave no open file and no process.
func TestConcurrentSurveysLeakNothing(t *testing.T) {
	config := discover.Config{
		Drivers: []device.Driver{devicetest.New(devicetest.Config{Backend: "cpu"})}, Surveyors: drivers.Surveyors(),
		Isolation: discover.Isolation{Helper: helper(), Environ: world{backend: "cuda", kind: "whole"}.environ},
	}
	r := discover.NewRegistry(config)
	first := r.Refresh()
	require.Equal(t, discover.Names(), names(first), "the host comes first")
	files := openFiles(t)
	var working sync.WaitGroup
	for range 8 {
		working.Go(func() {
			for range 13 {
				found := r.Refresh()
				if len(found.Backends) != 5 || !found.Backends[1].Available {
					t.Errorf("found %+v", found.Backends)
				}
				if r.Discover() == nil {
					t.Error("nothing is kept")
				}
			}
		})
	}
	working.Wait()
	require.Empty(t, children(t))
	require.LessOrEqual(t, openFiles(t), files)
}

func names(found *discover.Discovery) []string {
	var all []string
	for _, b := range found.Backends {
		all = append(all, b.Name)
	}
	return all
}

func TestCrashesAndHangsLeakNothing(t *testing.T) {
	files := openFiles(t)
	for _, behaviour := range []string{"abort", "sleep", "close_and_sleep", "garbage", "sleep_in_child"} {
		w := world{backend: "cuda", kind: "whole", behaviour: behaviour}
		w.isolation.Timeout = 200 * time.Millisecond
		r := w.registry()
		for range 3 {
			r.Refresh()
		}
	}
	require.Empty(t, children(t))
	require.LessOrEqual(t, openFiles(t), files)
}

// A host program ignores SIGCHLD, so the system takes the status of its children. A Go
// program has Go's own handler there, unless Go is a library.
func TestSurveyInAHostThatIgnoresSIGCHLD(t *testing.T) {
	if inProcessOfItsOwn(t) {
		return
	}
	set, err := purego.Dlsym(purego.RTLD_DEFAULT, "signal")
	require.NoError(t, err)
	const ignore = 1
	purego.SyscallN(set, uintptr(syscall.SIGCHLD), ignore)
	lookAround(t)
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(status), "SigIgn:")
	mask, err := strconv.ParseUint(strings.Fields(after)[0], 16, 64)
	require.NoError(t, err)
	require.NotZero(t, mask&(1<<(syscall.SIGCHLD-1)), "the signal was ignored before")
}

// A host program has a thread that takes the status of every child.
func TestSurveyInAHostThatReapsEveryChild(t *testing.T) {
	if inProcessOfItsOwn(t) {
		return
	}
	stop := make(chan struct{})
	done := device.Go("reaper", func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			var status syscall.WaitStatus
			_, _ = syscall.Wait4(-1, &status, 0, nil)
		}
	})
	lookAround(t)
	close(stop)
	<-done
}

// inProcessOfItsOwn runs the calling test in another process with the changes applied. It
// returns false in that process.
func inProcessOfItsOwn(t *testing.T, changes ...func(*exec.Cmd)) bool {
	t.Helper()
	const inside = "FERRUM_TEST_INSIDE"
	if os.Getenv(inside) != "" {
		return false
	}
	command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	command.Env = append(os.Environ(), inside+"=1", builtBefore+"="+built)
	for _, change := range changes {
		change(command)
	}
	output, err := command.CombinedOutput()
	if errors.Is(err, syscall.EPERM) && command.Process == nil {
		t.Skipf("this system does not start such a process: %v", err)
	}
	require.NoError(t, err, "%s", output)
	if strings.Contains(string(output), "--- SKIP") {
		t.Skipf("%s", output)
	}
	require.Contains(t, string(output), "--- PASS", "%s", output)
	return true
}

// lookAround surveys devices, a crash and a hang, whichever thread takes the status of
// processes.
func lookAround(t *testing.T) {
	for range 5 {
		require.True(t, world{backend: "cuda", kind: "whole"}.look(t).Available)
		require.Equal(t, device.AbsenceCrashed, world{backend: "cuda", kind: "whole", behaviour: "abort"}.look(t).Absence)
	}
	w := world{backend: "cuda", kind: "whole", behaviour: "sleep"}
	w.isolation.Timeout = 200 * time.Millisecond
	require.Equal(t, device.AbsenceTimedOut, w.look(t).Absence)
}

func TestHelperThatCannotBeStarted(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	require.NoError(t, os.WriteFile(text, []byte("no program"), 0o644))
	script := func(name, body string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755))
		return path
	}
	look := func(i discover.Isolation) discover.Backend { return world{backend: "cuda", isolation: i}.look(t) }

	missing := filepath.Join(folder, "missing")
	requireAbsent(t, look(discover.Isolation{Helper: missing}), device.AbsenceHelper, int64(syscall.ENOENT),
		missing, "no such file", "FERRUM_PROBE=in_process")
	requireAbsent(t, look(discover.Isolation{Candidates: []string{missing, folder}}), device.AbsenceHelper, 0,
		"was not found", missing, folder, discover.EnvProbeHelper)
	requireAbsent(t, look(discover.Isolation{Candidates: []string{}}), device.AbsenceHelper, 0, "no path is known")
	requireAbsent(t, look(discover.Isolation{Helper: text}), device.AbsenceHelper, int64(syscall.EACCES), "permission denied")
	require.NoError(t, os.Chmod(text, 0o755))
	requireAbsent(t, look(discover.Isolation{Helper: text}), device.AbsenceHelper, int64(syscall.ENOEXEC), "exec format error")
	require.Equal(t, device.AbsenceLibraryNotFound, withoutLibrary(t, look(discover.Isolation{Candidates: []string{missing, helper()}})))

	requireAbsent(t, look(discover.Isolation{Helper: script("silent", "exit 0")}), device.AbsenceCrashed, 0, "without a reply, with status 0")
	requireAbsent(t, look(discover.Isolation{Helper: script("other", "exit 64")}), device.AbsenceHelper, 64, "not a probe program of this version")
	requireAbsent(t, look(discover.Isolation{Helper: script("partial", "printf '{\"pro' >&3")}), device.AbsenceCrashed, 0, "(got 5 bytes of it)")
	for name, answer := range map[string]string{
		"noise":    "hello",
		"old":      `{"protocol":0,"backend":"cuda","survey":{"devices":[{}]}}`,
		"stranger": `{"protocol":1,"backend":"rocm","survey":{"devices":[{}]}}`,
		"nothing":  `{"protocol":1,"backend":"cuda","survey":{}}`,
		"numbers":  `{"protocol":1,"backend":"cuda","survey":{"devices":[{"index":7}]}}`,
		"negative": `{"protocol":1,"backend":"cuda","survey":{"devices":[{"total_bytes":-1}]}}`,
	} {
		requireAbsent(t, look(discover.Isolation{Helper: script(name, "echo '"+answer+"' >&3")}), device.AbsenceCrashed, 0, name)
	}
	endless := script("endless", "while :; do echo -n xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done >&3")
	requireAbsent(t, look(discover.Isolation{Helper: endless, Timeout: 2 * time.Second}), device.AbsenceTimedOut, 0)
}

// withoutLibrary skips the check of the result if a developer's machine has the real
// library.
func withoutLibrary(t *testing.T, b discover.Backend) device.Absence {
	t.Helper()
	if b.Library != "" {
		t.Skip("this machine has " + b.Library)
	}
	return b.Absence
}

// The helper ends itself, because its parent process may have ended.
func TestHelperEndsItself(t *testing.T) {
	w := world{backend: "cuda", kind: "whole", behaviour: "sleep"}
	command := exec.Command(helper(), device.ProbeVerb, "cuda", "100")
	command.Env = w.environ()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	defer write.Close()
	command.ExtraFiles = []*os.File{write}
	var exit *exec.ExitError
	require.ErrorAs(t, command.Run(), &exit)
	require.Equal(t, syscall.SIGALRM, exit.Sys().(syscall.WaitStatus).Signal())
}

func TestHelperRejectsOtherArguments(t *testing.T) {
	for _, arguments := range [][]string{
		{}, {"cuda"}, {device.ProbeVerb}, {device.ProbeVerb, "cuda"}, {device.ProbeVerb, "cuda", "0"}, {device.ProbeVerb, "cuda", "-1"},
		{device.ProbeVerb, "cuda", "x"}, {device.ProbeVerb, "cuda", "99999999999"}, {device.ProbeVerb, "vulkan", "1000"},
		{device.ProbeVerb, "cuda", "1000", "more"},
		// The descriptor for the answer is missing.
		{device.ProbeVerb, "cuda", strconv.Itoa(1000)},
	} {
		var exit *exec.ExitError
		require.ErrorAs(t, exec.Command(helper(), arguments...).Run(), &exit, "%v", arguments)
		require.Equal(t, device.ProbeExitUsage, exit.ExitCode(), "%v", arguments)
	}
}

func TestProbingCanBeDisabled(t *testing.T) {
	requireAbsent(t, world{backend: "cuda", kind: "whole", isolation: discover.Isolation{Mode: discover.ModeOff}}.look(t),
		device.AbsenceSwitchedOff, 0, "switched off")
}
