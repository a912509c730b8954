package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// command runs this test program as the command.
func command(t *testing.T, args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "FERRUM_TEST_AS_COMMAND=1", "GOCOVERDIR="+t.TempDir())
	return cmd
}

func TestProcessExitStatus(t *testing.T) {
	cleanEnvironment(t)
	small := writeFile(t, "small.csv", smallTrace)
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"version"}, exitDone},
		{[]string{"replay", small}, exitDone},
		{[]string{"replay", small, "--limit", "1MiB"}, exitNo},
		{[]string{"replay", "nowhere"}, exitUsage},
		{[]string{"plan", small}, exitDone},
		{[]string{"plan", small, "--limit", "1MiB"}, exitNo},
		{[]string{"plan", small, "--limit", "1MiB", "--json"}, exitNo},
		{[]string{"plan", "nowhere"}, exitUsage},
		{[]string{"devices"}, exitDone},
		{[]string{"devices", "--json"}, exitDone},
		{[]string{"devices", "cpu"}, exitUsage},
		{[]string{"fit", llama, "--memory", "80GiB", "--context", "1000"}, exitDone},
		{[]string{"fit", llama, "--memory", "8GiB", "--context", "1000"}, exitNo},
		{[]string{"fit", llama, "--memory", "8GiB", "--context", "1000", "--json"}, exitNo},
		{[]string{"fit", "nowhere.json"}, exitUsage},
		{[]string{"fit", llama, "--kv-dtype", "f7"}, exitUsage},
		{[]string{"frobnicate"}, exitUsage},
	} {
		var out, errs bytes.Buffer
		cmd := command(t, c.args...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if c.want == exitDone {
			assert.NoError(t, err)
		}
		assert.Equal(t, c.want, cmd.ProcessState.ExitCode(), c.args)
		assert.Equal(t, c.want == exitUsage, errs.Len() > 0, "stderr of %v: %s", c.args, errs.String())
		assert.Equal(t, c.want == exitUsage, out.Len() == 0, c.args)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no /dev/full: %v", err)
	}
	defer full.Close()
	cmd := command(t, "version")
	cmd.Stdout = full
	_ = cmd.Run()
	assert.Equal(t, exitMachine, cmd.ProcessState.ExitCode())
}

// An interrupted run exits with 130, reports that, and leaves no report and no part of one.
// An existing report stays. The trace comes through a pipe, so the test knows that the run
// has started and cannot have ended.
func TestProcessInterrupted(t *testing.T) {
	for _, number := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		folder := t.TempDir()
		report := filepath.Join(folder, "r.html")
		require.NoError(t, os.WriteFile(report, []byte("the former one"), 0o600))
		cmd := command(t, "replay", "-", "--report", report)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		require.NoError(t, cmd.Start())
		// The pipe holds less than this. So the write ends only when the command reads,
		// after it has installed its signal handlers.
		_, err = io.WriteString(in, "id,lower,upper,size\n"+strings.Repeat("\n", 1<<20))
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(number))
		_ = cmd.Wait()
		assert.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), errs.String())
		assert.Contains(t, errs.String(), "stopped while reading standard input")
		assert.Empty(t, out.String())
		text, err := os.ReadFile(report)
		require.NoError(t, err)
		assert.Equal(t, "the former one", string(text))
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		assert.Len(t, entries, 1)
	}
}
