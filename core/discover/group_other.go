//go:build !unix

package discover

import (
	"os"
	"os/exec"
)

// noSignal is the signal for an existence check. This system knows only Kill.
var noSignal = os.Kill

// alarmSignal is not a signal: this system has none.
const alarmSignal = -1

func ownGroup(*exec.Cmd) {}

func killGroup(process *os.Process) { _ = process.Kill() }

func signalOf(*os.ProcessState) (int, string) { return 0, "" }
