//go:build !unix

package discover

import (
	"os"
	"os/exec"
)

// noSignal asks nothing: only Kill is known here.
var noSignal = os.Kill

// alarmSignal is no signal: there is none.
const alarmSignal = -1

func ownGroup(*exec.Cmd) {}

func killGroup(process *os.Process) { _ = process.Kill() }

func signalOf(*os.ProcessState) (int, string) { return 0, "" }
