//go:build unix

package discover

import (
	"os"
	"os/exec"
	"syscall"
)

// noSignal checks whether a process exists.
const noSignal = syscall.Signal(0)

// alarmSignal ends a helper at its own limit.
const alarmSignal = int(syscall.SIGALRM)

func ownGroup(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a process and all processes that it started.
func killGroup(process *os.Process) {
	_ = syscall.Kill(-process.Pid, syscall.SIGKILL)
	_ = process.Kill()
}

// signalOf returns the signal that ended a process, or 0.
func signalOf(state *os.ProcessState) (int, string) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return 0, ""
	}
	return int(status.Signal()), status.Signal().String()
}
