package ort

import (
	"runtime"

	"ferrum_mem/core/compute"
	"ferrum_mem/internal/dl"
)

// arguments are the lists of a run.
type arguments struct {
	names  texts
	values []uintptr
}

// add adds a value with its name.
func (a *arguments) add(name string, value uintptr) {
	a.names.add(name)
	a.values = append(a.values, value)
}

// lists returns the addresses of the lists, and their length.
func (a *arguments) lists() (names, values, count uintptr) {
	if len(a.values) == 0 {
		return 0, 0, 0
	}
	return a.names.pointer(), dl.Pointer(&a.values[0]), uintptr(len(a.values))
}

func (r *runtimeLibrary) releaseValues(list []uintptr) {
	for _, value := range list {
		r.release(releaseValue, value)
	}
}

// runPlain runs the session on memory of the host. Outputs without memory become those of the run.
func (s *session) runPlain(from, to *arguments) error {
	fromNames, fromValues, fromCount := from.lists()
	toNames, toValues, toCount := to.lists()
	err := s.library.call(opRun, runSession, s.handle, 0, fromNames, fromValues, fromCount, toNames, toCount, toValues)
	runtime.KeepAlive(from)
	runtime.KeepAlive(to)
	return err
}

// Run computes outputs from inputs.
func (s *session) Run(inputs, outputs []compute.Bound) (done func(), err error) {
	r := s.library
	var from, to arguments
	done = func() { r.releaseValues(to.values) }
	err = func() error {
		defer func() { r.releaseValues(from.values) }()
		for _, b := range inputs {
			value, err := s.newValue(opRun, b)
			if err != nil {
				return err
			}
			from.add(b.Name, value)
		}
		for _, b := range outputs {
			value := uintptr(0)
			if b.Addr != 0 {
				if value, err = s.newValue(opRun, b); err != nil {
					return err
				}
			}
			to.add(b.Name, value)
		}
		run := s.runPlain
		if s.device != nil {
			run = s.runBound
		}
		if err := s.settle(s.in(func() error { return run(&from, &to) })); err != nil {
			return s.memory.takeFailure(err)
		}
		for at := range outputs {
			if outputs[at].Addr == 0 {
				if err := r.describe(to.values[at], &outputs[at]); err != nil {
					return err
				}
			}
		}
		return nil
	}()
	if err != nil {
		done()
		return func() {}, err
	}
	return done, nil
}
