package testdevice

import (
	"bytes"
	"regexp"
	"runtime"

	"ferrum_mem/drivers/internal/dl"
)

// Simulator calls what a simulated driver has for tests beside the driver's functions.
type Simulator struct{ library *dl.Library }

// NewSimulator is that of a library of the driver; false: it is a real one, or not there.
func NewSimulator(path string) (Simulator, bool) {
	library, err := dl.Open(path)
	if err != nil {
		return Simulator{}, false
	}
	_, simulated := library.Symbol("simcuda_leaks")
	return Simulator{library}, simulated
}

// Call calls any function of the library by its name.
func (s Simulator) Call(name string, arguments ...uintptr) int32 {
	address, found := s.library.Symbol(name)
	if !found {
		panic(name + " is not in the library")
	}
	return dl.Call(address, arguments...)
}

// Fault lets the n-th call of a function from now on fail with a number of the driver.
func (s Simulator) Fault(name string, n int, number int32) {
	text := append([]byte(name), 0)
	defer runtime.KeepAlive(text)
	if s.Call("simcuda_fault", dl.Pointer(&text[0]), uintptr(n), uintptr(number)) != 0 {
		panic("there is no room for another fault")
	}
}

// FaultIsLeft says whether a fault is still to come, and ClearFaults forgets it.
func (s Simulator) FaultIsLeft() bool { return s.Call("simcuda_faults_left") != 0 }

// ClearFaults forgets the faults that are still to come.
func (s Simulator) ClearFaults() { s.Call("simcuda_clear_faults") }

// Leaks is what is held, a line each.
func (s Simulator) Leaks() string { return s.text("simcuda_leaks") }

// asking are broken rules that are the only way to ask: whether a descriptor is that of
// memory, and how large that is.
var asking = regexp.MustCompile(`(?m)^(cuMemMap 1: \S+ \d+ bytes, of a handle of \d+|` +
	`cuMemImportFromShareableHandle 1: \d+ is no descriptor of exported memory)\n`)

// Violations are the calls that broke a rule, a line each, but for those that ask.
func (s Simulator) Violations() string {
	return asking.ReplaceAllString(s.text("simcuda_violations"), "")
}

// text is a list that the simulator keeps.
func (s Simulator) text(name string) string {
	buffer := make([]byte, 1<<16)
	if s.Call(name, dl.Pointer(&buffer[0]), uintptr(len(buffer))) == 0 {
		return ""
	}
	return string(bytes.TrimRight(buffer, "\x00"))
}
