package ort

import (
	"runtime"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// A session of a device gets its inputs and outputs through a binding, so that an output without memory of the
// caller stays on the device. Without a binding, ONNX Runtime copies such an output to memory of the host.

// onDevice is what a session of a device has besides that of every session.
type onDevice struct {
	// stream is that of all work of the session. isOwn: the session closes it.
	stream device.Stream
	within device.ContextRunner
	isOwn  bool
}

// openOn prepares the stream of a session, and returns its handle in the vendor's runtime. Errors: CodeUnsupported
// for a driver without streams that other code can use.
func openOn(g *compute.Graph) (on *onDevice, handle uint64, err error) {
	on = &onDevice{stream: g.Stream, isOwn: g.Stream == nil}
	if on.isOwn {
		if on.stream, err = g.Device.NewStream(); err != nil {
			return nil, 0, err
		}
	}
	var canRun bool
	on.within, canRun = on.stream.(device.ContextRunner)
	native, hasHandle := on.stream.(device.Native)
	if canRun && hasHandle {
		handle, err = native.NativeHandle()
	} else {
		err = device.Errorf(device.CodeUnsupported, opOpen, "its streams cannot be used by ONNX Runtime").On(g.Device.Info().ID)
	}
	if err != nil {
		on.close()
		return nil, 0, err
	}
	return on, handle, nil
}

// close closes the stream if it is that of the session. Each run has waited for its work.
func (on *onDevice) close() {
	if on != nil && on.isOwn {
		_ = on.stream.Close()
	}
}

// in calls work as ONNX Runtime needs it: on a device, in its context.
func (s *session) in(work func() error) error {
	if s.device == nil {
		return work()
	}
	return s.device.within.InContext(work)
}

// settle waits for the work of a session on its device. Work may be queued also after an error.
func (s *session) settle(err error) error {
	if s.device == nil {
		return err
	}
	if late := s.device.stream.Synchronize(device.Forever); err == nil {
		err = late
	}
	return err
}

// runBound runs the session through a binding, and replaces the outputs without memory by those of the run.
func (s *session) runBound(from, to *arguments) error {
	r := s.library
	var binding uintptr
	if err := r.call(opRun, createBinding, s.handle, dl.Pointer(&binding)); err != nil {
		return err
	}
	defer r.release(releaseBinding, binding)
	for i, name := range from.names.at {
		if err := r.call(opRun, bindInput, binding, name, from.values[i]); err != nil {
			return err
		}
	}
	for i, name := range to.names.at {
		bind, what := bindOutput, to.values[i]
		if what == 0 {
			bind, what = bindOutputToDevice, s.memoryInfo
		}
		if err := r.call(opRun, bind, binding, name, what); err != nil {
			return err
		}
	}
	err := r.call(opRun, runWithBinding, s.handle, 0, binding)
	runtime.KeepAlive(from)
	runtime.KeepAlive(to)
	if err != nil {
		return err
	}
	return s.takeOutputs(binding, to)
}

// takeOutputs takes the outputs of a binding, in the order in which they were bound.
func (s *session) takeOutputs(binding uintptr, to *arguments) error {
	r := s.library
	var values, count uintptr
	if err := r.call(opRun, boundOutputs, binding, r.texts, dl.Pointer(&values), dl.Pointer(&count)); err != nil {
		return err
	}
	if values == 0 {
		return nil // no output is wanted
	}
	for i, value := range pointersAt(values, int(count)) {
		if i < len(to.values) && to.values[i] == 0 {
			to.values[i] = value
			continue
		}
		r.release(releaseValue, value) // a further reference to what the caller gave
	}
	return r.call(opRun, freeText, r.texts, values)
}
