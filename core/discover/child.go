package discover

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"ferrum_mem/core/device"
)

// grace is the time in which a process must end after its reply, or after it was
// killed.
const grace = time.Second

// child is a process that queries one vendor's library.
type child struct {
	helper, backend string
	limit           time.Duration
	command         *exec.Cmd
	answer          *os.File
	// exited is closed when the process has ended and its status was read, by this
	// process or by a host program that waits for all children.
	exited <-chan struct{}
}

// ask starts the helper and waits for its answer, at most for the time limit. The
// process leads its own process group, so that all processes that it starts can be
// ended with it. It has no standard files: the output of a library is discarded.
func (i *Isolation) ask(backend string) device.Survey {
	helper, absent := i.helper()
	if absent != nil {
		return *absent
	}
	c := &child{helper: helper, backend: backend, limit: i.timeout()}
	if err := c.start(i.environ()); err != nil {
		return refusal(helper, err)
	}
	defer c.answer.Close()
	return c.read(time.Now().Add(c.limit))
}

func (c *child) start(environ []string) error {
	// Waiting for the process occupies a system thread.
	release, err := device.ReserveThread("discover.ask")
	if err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		release()
		return err
	}
	// The helper's own limit is later than this one. It applies if the host ends
	// before.
	limit := strconv.FormatInt((c.limit + grace).Milliseconds(), 10)
	c.command = exec.Command(c.helper, device.ProbeVerb, c.backend, limit)
	c.command.Env = environ
	c.command.ExtraFiles = []*os.File{write}
	ownGroup(c.command)
	err = c.command.Start()
	write.Close()
	if err != nil {
		read.Close()
		release()
		return err
	}
	c.answer = read
	// This worker ends when the process ends, which the kill ensures. It stays only if
	// the process hangs inside the kernel.
	c.exited = device.Go("wait for the probe of "+c.backend, func() {
		// An error because other code has read the status does not matter: the pipe has
		// the answer.
		_ = c.command.Wait()
		release()
		// The output of the process is in the pipe. A copy of the pipe's other end in a
		// process that the host has forked must not block the reader.
		_ = c.answer.SetReadDeadline(time.Now().Add(grace / 4))
	})
	return nil
}

// read returns the survey that the process replied, or a survey that states the error.
func (c *child) read(deadline time.Time) device.Survey {
	_ = c.answer.SetReadDeadline(deadline)
	line, err := bufio.NewReader(io.LimitReader(c.answer, device.ProbeAnswerMax)).ReadBytes('\n')
	if err == nil {
		c.end(grace)
		return c.decode(line)
	}
	// Without an answer and with a closed pipe the process may still run until the
	// limit. Its status then gives more information.
	if c.end(max(time.Until(deadline), 0)) {
		return c.autopsy(len(line))
	}
	return device.Absent(device.AbsenceTimedOut, 0, fmt.Sprintf(
		"no reply within %v: the vendor driver hangs or starts slowly (set %s to a longer time)", c.limit, EnvProbeTimeout))
}

func (c *child) decode(line []byte) device.Survey {
	survey, err := device.DecodeSurvey(c.backend, line)
	var typed *device.Error
	if errors.As(err, &typed) {
		return device.Absent(device.AbsenceCrashed, 0, c.helper+": "+typed.Message)
	}
	return survey
}

// end waits for the process to end, and then ends its whole group; false: it had to be
// killed, or cannot be.
func (c *child) end(after time.Duration) bool {
	patience := time.NewTimer(after)
	defer patience.Stop()
	select {
	case <-c.exited:
		return true
	case <-patience.C:
	}
	// An existing process keeps its number and that of its group, so the group is the
	// right one.
	if c.command.Process.Signal(noSignal) == nil {
		killGroup(c.command.Process)
	}
	patience.Reset(grace)
	select {
	case <-c.exited:
	case <-patience.C:
	}
	return false
}

// autopsy describes how a process without an answer ended.
func (c *child) autopsy(got int) device.Survey {
	const crashed = device.AbsenceCrashed
	state := c.command.ProcessState
	partly := ""
	if got > 0 {
		partly = fmt.Sprintf(" (got %v of it)", device.Size(got))
	}
	if state == nil {
		return device.Absent(crashed, 0,
			"the probe process ended without a reply"+partly+"; the host program has read its exit status")
	}
	number, name := signalOf(state)
	// The helper's own alarm: this process may have been delayed.
	if number == alarmSignal {
		return device.Absent(device.AbsenceTimedOut, 0, fmt.Sprintf("no reply within %v", c.limit))
	}
	if number != 0 {
		return device.Absent(crashed, int64(number),
			fmt.Sprintf("the vendor driver crashed the probe process with signal %d (%s)%s", number, name, partly))
	}
	switch code := state.ExitCode(); code {
	case device.ProbeExitLate:
		return device.Absent(device.AbsenceTimedOut, 0, fmt.Sprintf("no reply within %v", c.limit))
	case device.ProbeExitClosed:
		return device.Absent(crashed, int64(code), "the vendor driver closed the files of the probe process")
	case device.ProbeExitUsage:
		return device.Absent(device.AbsenceHelper, int64(code), c.helper+" is not a probe program of this version, or does not know the backend "+c.backend)
	default:
		return device.Absent(crashed, int64(code),
			fmt.Sprintf("the probe process ended without a reply%s, with status %d", partly, code))
	}
}
