package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo terminal. It returns the side that reads what is shown, and
// the name of the other side.
func openTerminal(t *testing.T) (*os.File, string) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { terminal.Close() })
	fd := int(terminal.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}))
	return terminal, fmt.Sprintf("/dev/pts/%d", number)
}

// onTerminal starts the command with its standard error on a terminal. The test can wait
// for what the terminal shows.
func onTerminal(t *testing.T, args ...string) (cmd *exec.Cmd, shown *display, out *bytes.Buffer) {
	terminal, name := openTerminal(t)
	side, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	cmd, out = command(t, args...), &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, side
	cmd.Stdin = strings.NewReader("")
	t.Cleanup(func() { side.Close() })
	return cmd, &display{terminal: terminal, side: side}, out
}

// display is the text that a terminal has shown so far.
type display struct {
	terminal, side *os.File
	text           strings.Builder
}

// until reads until the text appears. It fails if the command ends before that.
func (d *display) until(t *testing.T, text string) {
	t.Helper()
	buffer := make([]byte, 4096)
	for !strings.Contains(d.text.String(), text) {
		n, err := d.terminal.Read(buffer)
		d.text.Write(buffer[:n])
		require.NoError(t, err, "%q is not in %q", text, d.text.String())
	}
}

// rest returns everything that the terminal has shown when the command has ended.
func (d *display) rest() string {
	// Reading ends with an error when the last writer has closed the terminal.
	_, _ = bufio.NewReader(d.terminal).WriteTo(&d.text)
	return d.text.String()
}

// On a terminal the command shows a progress bar, only on the standard error.
func TestProcessProgressOnTerminal(t *testing.T) {
	for _, args := range [][]string{
		{"replay", exampleTrace, "--json"},
		{"replay", "--model", "a=" + exampleTrace, "--limit", "28GiB", "--policy", "static", "--json"},
	} {
		cmd, shown, out := onTerminal(t, args...)
		require.NoError(t, cmd.Start())
		require.NoError(t, shown.side.Close())
		text := shown.rest()
		require.NoError(t, cmd.Wait())
		assert.Contains(t, text, "replay [")
		assert.Contains(t, text, "8819 / 8819 requests")
		assert.True(t, strings.HasPrefix(out.String(), "{\n"))
		assert.NotContains(t, out.String(), "requests [")
	}
}

// A trace arrives late: the terminal shows what the command waits for, and removes the line
// when the trace has arrived.
func TestProcessProgressWhileReading(t *testing.T) {
	cmd, shown, out := onTerminal(t, "replay", "-", "--json")
	cmd.Stdin = nil
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, shown.side.Close())
	shown.until(t, "reading standard input … ")
	_, err = io.WriteString(in, smallTrace)
	require.NoError(t, err)
	require.NoError(t, in.Close())
	text := shown.rest()
	require.NoError(t, cmd.Wait())
	assert.Greater(t, strings.LastIndex(text, "\r\x1b[K"), strings.LastIndex(text, "reading standard input"), "the line is cleared")
	assert.True(t, strings.HasPrefix(out.String(), "{\n"))
}

// A driver hangs: every subcommand that queries devices shows that it is busy, only on a
// terminal.
func TestProcessProgressWhileQueryingDevices(t *testing.T) {
	simulatedCards(t, "sleep")
	t.Setenv("FERRUM_PROBE_TIMEOUT", "2s")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"devices"}, "looking for devices … "},
		{[]string{"fit", llama, "--context", "8"}, "looking for devices … "},
		{[]string{"doctor"}, "checking this machine … "},
	} {
		cmd, shown, out := onTerminal(t, c.args...)
		require.NoError(t, cmd.Start())
		require.NoError(t, shown.side.Close())
		shown.until(t, c.want)
		shown.rest()
		_ = cmd.Wait()
		assert.NotEmpty(t, out.String(), c.args)
		assert.NotContains(t, out.String(), c.want)
	}
	var errs bytes.Buffer
	cmd := command(t, "devices")
	cmd.Stderr = &errs
	require.NoError(t, cmd.Run())
	assert.Empty(t, errs.String(), "no progress where there is no terminal")
}

// Writing a report takes long. No part of the test depends on a time.
func TestProgressWhileWriting(t *testing.T) {
	terminal, name := openTerminal(t)
	side, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	defer side.Close()
	shown := &display{terminal: terminal, side: side}
	path := t.TempDir() + "/report.html"
	require.NoError(t, writeShowing(t.Context(), streams{progress: side}, path, func(io.Writer) error {
		shown.until(t, "writing "+path+" … ")
		return nil
	}))
	shown.until(t, "\x1b[K")
}
