package ort

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// An execution provider computes on the devices of a vendor. Its code is in a library beside that of ONNX
// Runtime, which loads it when a provider is configured for the first time.

// provider describes an execution provider.
type provider struct {
	// backend is the backend of its devices here, and name its name in ONNX Runtime.
	backend, name string
	// memory is the name of its memory.
	memory string
}

// providers lists the providers beside that of the CPU, which is part of every library.
func providers() []provider {
	return []provider{{backend: "cuda", name: "CUDAExecutionProvider", memory: "Cuda"}}
}

// hostBackend is the backend of the devices of the CPU.
const hostBackend = "cpu"

// providerOf returns the provider for a device; nil: that of the CPU. Errors: CodeUnsupported for a backend
// without one.
func providerOf(id device.ID) (*provider, error) {
	if id.Backend == "" || id.Backend == hostBackend {
		return nil, nil
	}
	for _, p := range providers() {
		if p.backend == id.Backend {
			return &p, nil
		}
	}
	return nil, device.Errorf(device.CodeUnsupported, opOpen, "ONNX Runtime has no execution provider for devices of %s", id.Backend)
}

// available lists the providers that the library was built with.
func (r *runtimeLibrary) available() ([]string, error) {
	var list uintptr
	var count int32
	if err := r.call(opLoad, availableProviders, dl.Pointer(&list), dl.Pointer(&count)); err != nil {
		return nil, err
	}
	names := make([]string, count)
	for i, at := range pointersAt(list, int(count)) {
		names[i] = dl.TextAt(at, maxText)
	}
	return names, r.call(opLoad, releaseProviders, list, uintptr(count))
}

// backends lists the backends of devices that the library was built for. Whether a provider can be loaded shows
// when an engine is opened for its device.
func (r *runtimeLibrary) backends() ([]string, error) {
	names, err := r.available()
	if err != nil {
		return nil, err
	}
	list := []string{hostBackend}
	for _, p := range providers() {
		if slices.Contains(names, p.name) {
			list = append(list, p.backend)
		}
	}
	return list, nil
}

// check loads a provider. Errors: CodeUnsupported if the library was built without it, or if it or a library
// that it needs cannot be loaded; the text has what is missing.
func (r *runtimeLibrary) check(p *provider, id device.ID, with settings) error {
	names, err := r.available()
	if err != nil {
		return err
	}
	if !slices.Contains(names, p.name) {
		return device.About(id, unavailable("%s (version %s) was built without %s: it has %s", r.path, r.version, p.name, strings.Join(names, ", ")))
	}
	// A provider needs the environment, to which it writes its messages.
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.prepare(); err != nil {
		return device.About(id, err)
	}
	options, err := r.cudaOptions(id, with)
	if err != nil {
		return device.About(id, err)
	}
	r.release(releaseCUDAOptions, options)
	return nil
}

// cudaOptions makes the settings of the provider for a device, which the caller releases.
func (r *runtimeLibrary) cudaOptions(id device.ID, with settings) (options uintptr, err error) {
	if err := r.call(opOpen, createCUDAOptions, dl.Pointer(&options)); err != nil {
		return 0, err
	}
	tf32 := "0"
	if with.tf32 {
		tf32 = "1"
	}
	keys, values := &texts{}, &texts{}
	for _, entry := range [][2]string{
		{"device_id", fmt.Sprint(id.Index)},
		// Its own arena is not used, and would keep what it once had.
		{"arena_extend_strategy", "kSameAsRequested"},
		{"do_copy_in_default_stream", "1"},
		{"use_tf32", tf32},
	} {
		keys.add(entry[0])
		values.add(entry[1])
	}
	err = r.call(opOpen, updateCUDAOptions, options, keys.pointer(), values.pointer(), uintptr(len(keys.at)))
	runtime.KeepAlive(keys)
	runtime.KeepAlive(values)
	if err != nil {
		r.release(releaseCUDAOptions, options)
		return 0, err
	}
	return options, nil
}

// addProvider lets a session compute on a device, on a stream of it. The stream stays open as long as the session.
func (r *runtimeLibrary) addProvider(session uintptr, id device.ID, stream uint64, with settings) error {
	options, err := r.cudaOptions(id, with)
	if err != nil {
		return err
	}
	defer r.release(releaseCUDAOptions, options)
	name := text("user_compute_stream")
	if err := r.call(opOpen, setCUDAOption, options, dl.Pointer(&name[0]), uintptr(stream)); err != nil {
		return err
	}
	return r.call(opOpen, appendCUDA, session, options)
}

// memoryOf returns the description of the memory of a device, which exists as long as the process. The caller
// holds mu, and has prepared the library.
func (r *runtimeLibrary) memoryOf(p *provider, id device.ID) (info uintptr, err error) {
	if p == nil {
		return r.memoryInfo, nil
	}
	if info = r.memoryInfos[id]; info != 0 {
		return info, nil
	}
	const deviceAllocator, defaultMemory = 0, 0
	name := text(p.memory)
	if err := r.call(opOpen, createNamedMemoryInfo, dl.Pointer(&name[0]), deviceAllocator, uintptr(id.Index), defaultMemory, dl.Pointer(&info)); err != nil {
		return 0, err
	}
	if r.memoryInfos == nil {
		r.memoryInfos = map[device.ID]uintptr{}
	}
	r.memoryInfos[id] = info
	return info, nil
}
