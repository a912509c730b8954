package testdevice

import (
	"bytes"
	"regexp"
	"runtime"

	"ferrum_mem/internal/dl"
)

// Simulator calls the test functions that a simulated driver has beside the vendor's.
type Simulator struct{ library *dl.Library }

// NewSimulator loads a driver library. false: the library is not simulated, or is missing.
func NewSimulator(path string) (Simulator, bool) {
	library, err := dl.Open(path)
	if err != nil {
		return Simulator{}, false
	}
	_, simulated := library.Symbol("simcuda_leaks")
	return Simulator{library}, simulated
}

// Call calls any function of the library by name.
func (s Simulator) Call(name string, arguments ...uintptr) int32 {
	address, found := s.library.Symbol(name)
	if !found {
		panic(name + " is not in the library")
	}
	return dl.Call(address, arguments...)
}

// Fault makes the n-th call of a function from now on fail with an error number of the
// driver.
func (s Simulator) Fault(name string, n int, number int32) {
	text := append([]byte(name), 0)
	defer runtime.KeepAlive(text)
	if s.Call("simcuda_fault", dl.Pointer(&text[0]), uintptr(n), uintptr(number)) != 0 {
		panic("no more faults fit")
	}
}

// FaultIsLeft states whether an injected fault has not happened yet.
func (s Simulator) FaultIsLeft() bool { return s.Call("simcuda_faults_left") != 0 }

// ClearFaults removes the faults that have not happened yet. A device that was lost works
// again when it has been closed, as it would in a new process.
func (s Simulator) ClearFaults() { s.Call("simcuda_clear_faults") }

// PageableCopies returns how many copies so far were from or to pageable host memory.
func (s Simulator) PageableCopies() int { return int(s.Call("simcuda_pageable_copies")) }

// DeepestQueue returns the largest number of operations that one stream had queued when a
// copy joined it, since the last call.
func (s Simulator) DeepestQueue() int { return int(s.Call("simcuda_deepest_queue")) }

// Leaks lists what is not released, one line each.
func (s Simulator) Leaks() string { return s.text("simcuda_leaks") }

// asking matches the violations that are also the only way to query something: whether a
// descriptor belongs to exported memory, and how large that memory is.
var asking = regexp.MustCompile(`(?m)^(cuMemMap 801: \S+ \d+ bytes, of a handle of \d+|` +
	`cuMemImportFromShareableHandle (1: \d+ is not a descriptor of exported memory|999: \d+ is the descriptor of a file))\n`)

// Violations lists the calls that broke a rule, one line each, without the matches of
// asking.
func (s Simulator) Violations() string {
	return asking.ReplaceAllString(s.text("simcuda_violations"), "")
}

// text reads a list of the simulator.
func (s Simulator) text(name string) string {
	buffer := make([]byte, 1<<16)
	if s.Call(name, dl.Pointer(&buffer[0]), uintptr(len(buffer))) == 0 {
		return ""
	}
	return string(bytes.TrimRight(buffer, "\x00"))
}
