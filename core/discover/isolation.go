package discover

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"ferrum_mem/core/device"
)

// The environment variables that select how vendor libraries are queried.
const (
	EnvProbe        = "FERRUM_PROBE"
	EnvProbeHelper  = "FERRUM_PROBE_HELPER"
	EnvProbeTimeout = "FERRUM_PROBE_TIMEOUT"
)

// Mode selects where vendor libraries are queried.
type Mode int

// The modes.
const (
	// ModeChild: each in a short-lived process.
	ModeChild Mode = iota
	// ModeInProcess: in this process, which a broken driver may end.
	ModeInProcess
	// ModeOff: not at all.
	ModeOff
)

// DefaultTimeout is the time limit for one backend. Drivers of machines with many
// devices, or that are in a power-saving state, take seconds to start.
const DefaultTimeout = 10 * time.Second

// maxTimeout prevents that a mistyped number blocks a program for very long.
const maxTimeout = 10 * time.Minute

// Isolation selects how vendor libraries are queried. The zero value cannot find a
// helper.
type Isolation struct {
	Mode Mode
	// Timeout is the limit for each backend; 0 means DefaultTimeout.
	Timeout time.Duration
	// Helper is the program to run; "": the first of Candidates that exists.
	Helper     string
	Candidates []string
	// Environ is the environment of the process; nil: os.Environ.
	Environ func() []string
}

// ReadIsolation returns the isolation that the environment selects. It returns
// CodeInvalidConfig, with the variable and the value, for an invalid value.
func ReadIsolation(getenv func(string) string) (Isolation, error) {
	const op = "discover.isolation"
	i := Isolation{Helper: getenv(EnvProbeHelper)}
	switch text := getenv(EnvProbe); strings.TrimSpace(text) {
	case "", "child":
	case "in_process":
		i.Mode = ModeInProcess
	case "off":
		i.Mode = ModeOff
	default:
		return Isolation{}, device.Errorf(device.CodeInvalidConfig, op, "%s=%q: want child, in_process or off", EnvProbe, text)
	}
	text := getenv(EnvProbeTimeout)
	if text == "" {
		return i, nil
	}
	limit, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || limit < time.Millisecond || limit > maxTimeout {
		return Isolation{}, device.Errorf(device.CodeInvalidConfig, op,
			"%s=%q: want a duration from 1ms to %v, such as 10s", EnvProbeTimeout, text, maxTimeout)
	}
	i.Timeout = limit
	return i, nil
}

func (i *Isolation) timeout() time.Duration {
	if i.Timeout == 0 {
		return DefaultTimeout
	}
	return i.Timeout
}

func (i *Isolation) environ() []string {
	if i.Environ != nil {
		return i.Environ()
	}
	return os.Environ()
}

// helper finds the program, or lists what was tried.
func (i *Isolation) helper() (string, *device.Survey) {
	if i.Helper != "" {
		return i.Helper, nil
	}
	for _, path := range i.Candidates {
		if stat, err := os.Stat(path); err == nil && stat.Mode().IsRegular() {
			return path, nil
		}
	}
	tried := "no path is known"
	if len(i.Candidates) > 0 {
		tried = "tried: " + strings.Join(i.Candidates, ", ")
	}
	absent := device.Absent(device.AbsenceHelper, 0, "the probe program, which queries vendor libraries, was not found, "+tried+
		"; set "+EnvProbeHelper+" to its path, or "+EnvProbe+"=in_process to probe without it")
	return "", &absent
}

// bare is a surveyor that can report, without loading a library, that its backend does
// not exist here.
type bare interface{ Unsupported() (device.Survey, bool) }

// unsupportedHere avoids a process for a backend that does not exist on this system.
func (i *Isolation) unsupportedHere(s device.Surveyor) *device.Survey {
	if b, ok := s.(bare); ok {
		if absent, is := b.Unsupported(); is {
			return &absent
		}
	}
	return nil
}

// refusal turns the error of starting the helper into an answer.
func refusal(helper string, err error) device.Survey {
	absent := device.Absent(device.AbsenceHelper, 0, "the probe program, which queries vendor libraries, cannot be started: "+
		err.Error()+"; set "+EnvProbe+"=in_process to probe without it")
	var number syscall.Errno
	if errors.As(err, &number) {
		absent.Native = int64(number)
	}
	if !strings.Contains(absent.Message, helper) {
		absent.Message += " (" + helper + ")"
	}
	return absent
}
