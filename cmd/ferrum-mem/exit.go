package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ferrum_mem/core/device"
)

// The exit statuses.
const (
	exitDone        = 0
	exitNo          = 1
	exitUsage       = 2
	exitMachine     = 3
	exitInterrupted = 130
)

// exitStatuses describes the statuses, for the manual.
var exitStatuses = []struct {
	number  int
	meaning string
}{
	{exitDone, "Success. Where the subcommand answers a question, the answer is yes."},
	{exitNo, "The answer is no: a model or buffers do not fit, a request was not served, a check found a problem."},
	{exitUsage, "Wrong arguments or invalid input."},
	{exitMachine, "The machine or a device failed."},
	{exitInterrupted, "Interrupted."},
}

// errNo states that the answer of a subcommand is no. The output has been printed
// already.
var errNo = errors.New("no")

func isAnswer(err error) bool { return errors.Is(err, errNo) }

// usageError is an error in the arguments of the command.
type usageError struct {
	verb string
	err  error
}

func (u *usageError) Error() string { return u.err.Error() }
func (u *usageError) Unwrap() error { return u.err }

func usagef(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{verb: cmd.CommandPath(), err: fmt.Errorf(format, args...)}
}

// flagFault describes the error of a flag, as the user wrote it.
func flagFault(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	flag, wanted := invalid.GetFlag(), "not a valid value"
	switch flag.Value.Type() {
	case "uint64":
		wanted = "not a whole number from 0 on that fits 64 bits"
	case "duration":
		wanted = notADuration
	case "bool":
		wanted = "neither true nor false"
	}
	return fmt.Sprintf("--%s %q is %s", flag.Name, invalid.GetValue(), wanted)
}

const notADuration = "not a duration such as 250ms, 30s or 15m"

// report prints the error and returns the exit status.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	if isAnswer(err) {
		return exitNo
	}
	fmt.Fprintf(stderr, "ferrum-mem: %s\n", message(err))
	var usage *usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", usage.verb)
		return exitUsage
	}
	return statusOf(err)
}

// message returns the text of an error for people, without the operation and the status,
// which are for programs.
func message(err error) string {
	var typed *device.Error
	if !errors.As(err, &typed) || typed.Code == device.CodeInternal {
		return err.Error()
	}
	if typed.Device != "" {
		return typed.Device + ": " + typed.Message
	}
	return typed.Message
}

// statusOf distinguishes errors of the input from errors of the machine.
func statusOf(err error) int {
	switch code := device.CodeOf(err); code {
	case device.CodeCancelled:
		return exitInterrupted
	case device.CodeInvalidArgument, device.CodeInvalidSize, device.CodeInvalidConfig, device.CodeInvalidFormat,
		device.CodeInvalidAlignment, device.CodeInvalidPageSize, device.CodeOverflow, device.CodeNotFound, device.CodeAlreadyExists, device.CodeDeviceNotFound,
		device.CodeModel:
		return exitUsage
	}
	// If the file of a given name cannot be used, the name is the error.
	for _, of := range []error{fs.ErrNotExist, fs.ErrPermission, fs.ErrExist, syscall.EISDIR, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.ELOOP} {
		if errors.Is(err, of) {
			return exitUsage
		}
	}
	return exitMachine
}
