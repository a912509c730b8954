package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openTerminal makes a pseudo terminal: the side that sees what is shown, and
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

// On a terminal there is a progress bar, on the standard error only.
func TestProcessProgressOnTerminal(t *testing.T) {
	terminal, name := openTerminal(t)
	side, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	cmd := command(t, "replay", exampleTrace, "--json")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, side
	require.NoError(t, cmd.Start())
	require.NoError(t, side.Close())
	var shown strings.Builder
	// Reading ends with an error when the last writer is gone.
	_, _ = bufio.NewReader(terminal).WriteTo(&shown)
	require.NoError(t, cmd.Wait())
	assert.Contains(t, shown.String(), "replay [")
	assert.Contains(t, shown.String(), "8819 / 8819 requests")
	assert.True(t, strings.HasPrefix(out.String(), "{\n"))
	assert.NotContains(t, out.String(), "requests [")
}
