package ort

import (
	"runtime"

	"ferrum_mem/core/compute"
	"ferrum_mem/internal/dl"
)

// arguments are the lists of a run.
type arguments struct {
	names  []uintptr
	values []uintptr
	kept   [][]byte
}

// add adds a value with its name.
func (a *arguments) add(name string, value uintptr) {
	kept := text(name)
	a.kept, a.names, a.values = append(a.kept, kept), append(a.names, dl.Pointer(&kept[0])), append(a.values, value)
}

// lists returns the addresses of the lists, and their length.
func (a *arguments) lists() (names, values, count uintptr) {
	if len(a.names) == 0 {
		return 0, 0, 0
	}
	return dl.Pointer(&a.names[0]), dl.Pointer(&a.values[0]), uintptr(len(a.names))
}

func (r *runtimeLibrary) releaseValues(list []uintptr) {
	for _, value := range list {
		r.release(releaseValue, value)
	}
}

// Run computes outputs from inputs.
func (s *session) Run(inputs, outputs []compute.Bound) (done func(), err error) {
	r := s.library
	var from, to arguments
	done = func() { r.releaseValues(to.values) }
	err = func() error {
		defer func() { r.releaseValues(from.values) }()
		for _, b := range inputs {
			value, err := r.newValue(opRun, b)
			if err != nil {
				return err
			}
			from.add(b.Name, value)
		}
		for _, b := range outputs {
			value := uintptr(0)
			if b.Addr != 0 {
				if value, err = r.newValue(opRun, b); err != nil {
					return err
				}
			}
			to.add(b.Name, value)
		}
		fromNames, fromValues, fromCount := from.lists()
		toNames, toValues, toCount := to.lists()
		err := r.call(opRun, runSession, s.handle, 0, fromNames, fromValues, fromCount, toNames, toCount, toValues)
		runtime.KeepAlive(from.kept)
		runtime.KeepAlive(to.kept)
		if err != nil {
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
