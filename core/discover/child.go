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

// grace is how long a process has to end after its answer or after it was killed.
const grace = time.Second

// child is a process that asks one vendor's library.
type child struct {
	helper, backend string
	limit           time.Duration
	command         *exec.Cmd
	answer          *os.File
	// exited is closed when the process has ended and its status was taken, by us or
	// by a host program that takes everybody's.
	exited <-chan struct{}
}

// ask starts the helper and waits for its answer, at most for the time limit. The
// process leads a group of its own, so that all it starts can be ended with it. It has
// no standard files: what a library prints goes nowhere.
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
	// Waiting for the process keeps a thread in the system.
	release, err := device.ReserveThread("discover.ask")
	if err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		release()
		return err
	}
	// The helper's own limit is behind ours: it is for a host that dies meanwhile.
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
	// Ends when the process does, which the kill sees to; only a process that hangs
	// inside the kernel makes it stay.
	c.exited = device.Go("wait for the probe of "+c.backend, func() {
		// That somebody else took the status is not of interest: the pipe tells.
		_ = c.command.Wait()
		release()
		// What the process wrote is in the pipe; a copy of its other end, in a process
		// that the host forked off meanwhile, must not keep the reader.
		_ = c.answer.SetReadDeadline(time.Now().Add(grace / 4))
	})
	return nil
}

// read gives the answer, or what happened instead.
func (c *child) read(deadline time.Time) device.Survey {
	_ = c.answer.SetReadDeadline(deadline)
	line, err := bufio.NewReader(io.LimitReader(c.answer, device.ProbeAnswerMax)).ReadBytes('\n')
	if err == nil {
		c.end(grace)
		return c.decode(line)
	}
	// Without an answer and with its pipe closed it may still take until the limit
	// to end; its status then says more.
	if c.end(max(time.Until(deadline), 0)) {
		return c.autopsy(len(line))
	}
	return device.Absent(device.AbsenceTimedOut, 0, fmt.Sprintf(
		"no answer within %v: the driver hangs, or is slow to start (%s gives it more time)", c.limit, EnvProbeTimeout))
}

func (c *child) decode(line []byte) device.Survey {
	survey, err := device.DecodeSurvey(c.backend, line)
	var typed *device.Error
	if errors.As(err, &typed) {
		return device.Absent(device.AbsenceCrashed, 0, c.helper+": "+typed.Message)
	}
	return survey
}

// end waits for the process to end by itself, and after that ends its whole group;
// false: it had to be ended, or cannot be.
func (c *child) end(after time.Duration) bool {
	patience := time.NewTimer(after)
	defer patience.Stop()
	select {
	case <-c.exited:
		return true
	case <-patience.C:
	}
	// A process that is there keeps its number, and so its group's, from others.
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

// autopsy says how a process without an answer ended.
func (c *child) autopsy(got int) device.Survey {
	const crashed = device.AbsenceCrashed
	state := c.command.ProcessState
	partly := ""
	if got > 0 {
		partly = fmt.Sprintf(" after %d bytes of an answer", got)
	}
	if state == nil {
		return device.Absent(crashed, 0,
			"the process that asked the driver ended without an answer"+partly+"; the host program took its exit status")
	}
	number, name := signalOf(state)
	// Its own alarm: this process may have been held up meanwhile.
	if number == alarmSignal {
		return device.Absent(device.AbsenceTimedOut, 0, fmt.Sprintf("no answer within %v", c.limit))
	}
	if number != 0 {
		return device.Absent(crashed, int64(number),
			fmt.Sprintf("the driver crashed the process that asked it, with signal %d (%s)%s", number, name, partly))
	}
	switch code := state.ExitCode(); code {
	case device.ProbeExitLate:
		return device.Absent(device.AbsenceTimedOut, 0, fmt.Sprintf("no answer within %v", c.limit))
	case device.ProbeExitClosed:
		return device.Absent(crashed, int64(code), "the driver closed the files of the process that asked it")
	case device.ProbeExitUsage:
		return device.Absent(device.AbsenceHelper, int64(code), c.helper+" is no helper of this version, or knows no backend "+c.backend)
	default:
		return device.Absent(crashed, int64(code),
			fmt.Sprintf("the process that asked the driver ended without an answer%s, with status %d", partly, code))
	}
}
