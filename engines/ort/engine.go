package ort

import (
	"runtime"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
)

// engine runs graphs with ONNX Runtime.
type engine struct {
	library  *runtimeLibrary
	settings settings
	// backends are those of the devices that the library was built for.
	backends []string
}

var _ compute.GraphEngine = (*engine)(nil)

// New loads ONNX Runtime, if the process has not done so. Errors: CodeUnsupported, with the reason and what
// was tried.
func New(o compute.Options) (compute.GraphEngine, error) {
	if o.InstructionSet != "" {
		return nil, device.Errorf(device.CodeUnsupported, opOpen, "ONNX Runtime chooses the instruction set: %q cannot be asked for", o.InstructionSet)
	}
	library, err := process.library()
	if err != nil {
		return nil, err
	}
	with := settings{on: o.Device, level: o.Level, prepacking: o.Prepacking, tf32: o.ReducedPrecision}
	p, err := providerOf(o.Device)
	if err == nil && p != nil {
		err = library.check(p, o.Device, with)
	}
	if err != nil {
		return nil, err
	}
	backends, err := library.backends()
	if err != nil {
		return nil, err
	}
	threads := o.Threads
	if threads == 0 {
		threads = runtime.NumCPU()
	}
	with.threads = threads
	return &engine{library: library, settings: with, backends: backends}, nil
}

// Capabilities states what the engine is.
func (e *engine) Capabilities() compute.Capabilities {
	return compute.Capabilities{
		Name: "onnx_runtime", Version: e.library.version, Threads: e.settings.threads, AlignmentBytes: alignmentBytes,
		DeviceBackends: e.backends,
		Details:        map[string]string{"library": e.library.path},
	}
}

// alignmentBytes is the alignment of memory that ONNX Runtime reads fastest.
const alignmentBytes = 64

// OpenGraph prepares a graph. Errors: CodeInvalidArgument for a graph without bytes; those of ONNX Runtime.
func (e *engine) OpenGraph(g compute.Graph) (compute.Session, error) {
	if len(g.ONNX) == 0 || g.Memory == nil {
		return nil, device.Errorf(device.CodeInvalidArgument, opOpen, "%q: a graph and its memory are required", g.Name)
	}
	made, err := e.library.open(g, e.settings)
	if err != nil {
		return nil, err
	}
	return made, nil
}

// Close does nothing: the library stays loaded.
func (e *engine) Close() {}
