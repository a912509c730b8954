package installed

import (
	"errors"
	"runtime"

	"ferrum_mem/internal/dl"
)

// Executor is a built model.
type Executor struct {
	l              *Library
	device, handle uint64
}

// Info is the state of an executor.
type Info struct {
	Name           string `json:"name"`
	State          string `json:"state"`
	Parameters     uint64 `json:"parameters"`
	ParameterBytes uint64 `json:"parameter_bytes"`
	ArenaBytes     uint64 `json:"arena_bytes"`
	HeldBytes      uint64 `json:"held_bytes"`
	SavedBytes     uint64 `json:"saved_bytes"`
}

// Info returns the state of an executor.
func (e *Executor) Info() (*Info, error) {
	var i Info
	return &i, e.l.object(&e.l.info, &i, uintptr(e.handle))
}

// Sleep puts the model to sleep in a temporary file, and returns the bytes of memory that were
// released.
func (e *Executor) Sleep() (releasedBytes uint64, err error) {
	config, report := newStruct[sleepConfig](), newStruct[sleepReport]()
	config.backing, config.timeoutNS = backingFile, waitForever
	err = e.l.call(&e.l.sleep, uintptr(e.handle), dl.Pointer(config), dl.Pointer(report))
	return report.releasedBytes, err
}

// Wake wakes the model, and returns the bytes that were allocated for it.
func (e *Executor) Wake() (restoredBytes uint64, err error) {
	report := newStruct[wakeReport]()
	err = e.l.call(&e.l.wake, uintptr(e.handle), 0, dl.Pointer(report))
	return report.restoredBytes, err
}

// Close frees the memory of the model.
func (e *Executor) Close() error { return e.l.call(&e.l.destroy, uintptr(e.handle), force) }

// Call is a run of an executor whose inputs are set. It may run several times.
type Call struct {
	e       *Executor
	inputs  []namedTensor
	outputs []namedTensor
	// elements are the elements of the inputs, which the tensors of the library read.
	elements [][]byte
}

// Prepare makes a call with inputs and with the names of the wanted outputs. The elements of
// the inputs must not change until the call is closed.
func (e *Executor) Prepare(inputs []Tensor, outputs []string) (*Call, error) {
	c := &Call{e: e}
	for _, t := range inputs {
		handle, err := t.wrap(e.l, e.device)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.inputs = append(c.inputs, namedTensor{text(t.Name), handle})
		c.elements = append(c.elements, t.Elements)
	}
	for _, name := range outputs {
		c.outputs = append(c.outputs, namedTensor{name: text(name)})
	}
	return c, nil
}

// Run runs the model. The first run makes the outputs; the others write to them.
func (c *Call) Run() error {
	err := c.e.l.call(&c.e.l.run, uintptr(c.e.handle), address(first(c.inputs)), uintptr(len(c.inputs)),
		address(first(c.outputs)), uintptr(len(c.outputs)), 0, ^uintptr(0))
	runtime.KeepAlive(c)
	return err
}

// Outputs copies the outputs of the last run.
func (c *Call) Outputs() ([]Tensor, error) {
	var all []Tensor
	for _, o := range c.outputs {
		t, err := c.e.l.read(o)
		if err != nil {
			return nil, err
		}
		all = append(all, *t)
	}
	return all, nil
}

// Close ends the tensors of the call.
func (c *Call) Close() error {
	var failures []error
	for _, list := range [][]namedTensor{c.inputs, c.outputs} {
		for _, t := range list {
			if t.tensor != 0 {
				failures = append(failures, c.e.l.call(&c.e.l.tensorDestroy, uintptr(t.tensor)))
			}
		}
	}
	runtime.KeepAlive(c.elements)
	c.inputs, c.outputs, c.elements = nil, nil, nil
	return errors.Join(failures...)
}

func first(list []namedTensor) *namedTensor {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}
