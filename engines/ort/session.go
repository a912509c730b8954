package ort

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
	"ferrum_mem/internal/dl"
)

// session is a session of ONNX Runtime with an allocator of its own.
type session struct {
	library *runtimeLibrary
	handle  uintptr
	memory  *allocator
	// memoryInfo describes the memory of the device, and device is nil for the CPU.
	memoryInfo uintptr
	device     *onDevice
	// constants are the OrtValues over the memory of the caller.
	constants []uintptr
	// functions are those of the graph, and domains the OrtCustomOpDomains that have them.
	functions       []*custom
	domains         []uintptr
	inputs, outputs []compute.GraphValue
}

// isAboutConstants states whether an error may be that the elements of constants were read. Libraries up to
// 1.21 lack the path of the model then.
func isAboutConstants(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "external") || strings.Contains(text, "model_path must not be empty")
}

// settings configure a session.
type settings struct {
	// on is the device; the zero value: that of the CPU.
	on      device.ID
	threads int
	// level is from 0 to 3.
	level      int
	prepacking bool
	// tf32 is for the CUDA provider.
	tf32 bool
}

// open makes a session. If it may change the graph, ONNX Runtime reads constants for that, and keeps a
// second copy of what it computes from them. Larger constants have no elements where it reads them, so such
// a level fails, and a lower one is taken.
func (r *runtimeLibrary) open(g compute.Graph, s settings) (*session, error) {
	for {
		made, err := r.openAt(g, s)
		if err == nil || s.level == 0 || len(g.Constants) == 0 || !isAboutConstants(err) {
			return made, err
		}
		s.level--
	}
}

func (r *runtimeLibrary) openAt(g compute.Graph, s settings) (*session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.prepare(); err != nil {
		return nil, err
	}
	p, err := providerOf(s.on)
	if err != nil {
		return nil, err
	}
	if p != nil && len(g.Functions) > 0 {
		f := &g.Functions[0]
		return nil, device.Errorf(device.CodeUnsupported, opOpen, "%q: %s, a layer of the program, runs on devices of the CPU only",
			g.Name, operator.FullName(f.Domain, f.Name)).On(s.on)
	}
	made := &session{library: r}
	if made.memoryInfo, err = r.memoryOf(p, s.on); err != nil {
		return nil, err
	}
	var stream uint64
	if p != nil {
		if made.device, stream, err = openOn(&g); err != nil {
			return nil, err
		}
	}
	memory, err := r.newAllocator(g.Memory, made.memoryInfo)
	if err != nil {
		made.device.close()
		return nil, err
	}
	made.memory = memory
	if err := made.in(func() error { return made.open(&g, s, stream) }); err != nil {
		err = memory.takeFailure(err)
		made.Close()
		return nil, err
	}
	return made, nil
}

// open creates the session, which has that stream of the device. The caller holds mu, and closes the session
// after an error.
func (s *session) open(g *compute.Graph, with settings, stream uint64) error {
	r := s.library
	var options uintptr
	if err := r.call(opOpen, createOptions, dl.Pointer(&options)); err != nil {
		return err
	}
	defer r.release(releaseOptions, options)
	if err := r.configure(options, with); err != nil {
		return err
	}
	if s.device != nil {
		if err := r.addProvider(options, with.on, stream, with); err != nil {
			return err
		}
	}
	for _, each := range g.Constants {
		value, err := s.newValue(opOpen, compute.Bound(each))
		if err != nil {
			return err
		}
		s.constants = append(s.constants, value)
		name := text(each.Name)
		if err := r.call(opOpen, addInitializer, options, dl.Pointer(&name[0]), value); err != nil {
			return err
		}
	}
	if err := s.addFunctions(options, g.Functions); err != nil {
		return err
	}
	if len(g.Constants) > 0 {
		folder, err := emptyFile(g.External)
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(folder) }() // a folder in that of temporary files
		if err := r.configureText(options, "session.model_external_initializers_file_folder_path", folder); err != nil {
			return err
		}
	}
	if err := r.checkUnregistered(s.memoryInfo); err != nil {
		return err
	}
	// The session keeps the allocator that is registered now.
	if err := r.call(opOpen, registerAllocator, r.environment, s.memory.table); err != nil {
		return device.Errorf(device.CodeUnsupported, opOpen,
			anotherAllocator+": %w", err)
	}
	err := r.call(opOpen, createSession, r.environment, dl.Pointer(&g.ONNX[0]), uintptr(len(g.ONNX)), options, dl.Pointer(&s.handle))
	runtime.KeepAlive(g)
	if ended := r.call(opOpen, unregisterAllocator, r.environment, s.memoryInfo); err == nil {
		err = ended
	}
	if err != nil {
		return err
	}
	if s.inputs, err = s.values(inputCount, inputName, inputType); err == nil {
		s.outputs, err = s.values(outputCount, outputName, outputType)
	}
	return err
}

// configure sets the options of a session.
func (r *runtimeLibrary) configure(options uintptr, with settings) error {
	levels := [...]uintptr{0, 1, 2, 99}
	for _, each := range []struct {
		f     function
		value uintptr
	}{
		{setOptimization, levels[with.level]}, {setIntraThreads, uintptr(with.threads)}, {setInterThreads, 1},
	} {
		if err := r.call(opOpen, each.f, options, each.value); err != nil {
			return err
		}
	}
	if err := r.call(opOpen, disableArena, options); err != nil {
		return err
	}
	isOff := "1"
	if with.prepacking {
		isOff = "0"
	}
	for _, entry := range [][2]string{
		{"session.use_env_allocators", "1"}, {"session.disable_prepacking", isOff},
		{"session.intra_op.allow_spinning", "0"}, {"session.inter_op.allow_spinning", "0"},
	} {
		if err := r.configureText(options, entry[0], entry[1]); err != nil {
			return err
		}
	}
	return nil
}

func (r *runtimeLibrary) configureText(options uintptr, key, value string) error {
	k, v := text(key), text(value)
	return r.call(opOpen, addConfigEntry, options, dl.Pointer(&k[0]), dl.Pointer(&v[0]))
}

// emptyFile makes a folder with an empty file, to which the constants refer that are in memory. A library
// that reads elements there fails, so a session never has other elements than those in memory.
func emptyFile(name string) (folder string, err error) {
	folder, err = os.MkdirTemp("", "ferrum-ort-")
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, filepath.Base(name)), nil, 0o600)
	}
	if err != nil {
		return folder, device.Errorf(device.CodeIO, opOpen, "%w", err)
	}
	return folder, nil
}

// values describes the inputs or the outputs.
func (s *session) values(count, nameOf, kindOf function) ([]compute.GraphValue, error) {
	var number uintptr
	if err := s.library.call(opOpen, count, s.handle, dl.Pointer(&number)); err != nil {
		return nil, err
	}
	list := make([]compute.GraphValue, number)
	for at := range list {
		var err error
		if list[at], err = s.library.graphValue(s.handle, at, nameOf, kindOf); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Inputs describes the inputs.
func (s *session) Inputs() []compute.GraphValue { return s.inputs }

// Outputs describes the outputs.
func (s *session) Outputs() []compute.GraphValue { return s.outputs }

// Close ends the session. The constants are the caller's.
func (s *session) Close() {
	r := s.library
	_ = s.in(func() error { // a device that is lost has nothing to release
		r.release(releaseSession, s.handle)
		return nil
	})
	for _, value := range s.constants {
		r.release(releaseValue, value)
	}
	for _, domain := range s.domains {
		r.release(releaseDomain, domain)
	}
	for _, f := range s.functions {
		f.close()
	}
	s.memory.close()
	s.device.close()
	s.handle, s.constants, s.domains, s.functions, s.device = 0, nil, nil, nil, nil
}
