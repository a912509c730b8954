package ort

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// EnvLibrary is the environment variable with the path of the library of ONNX Runtime.
const EnvLibrary = "FERRUM_ORT_LIBRARY"

const (
	// newestAPI is the version of the table that the package asks for first, and oldestAPI the last one.
	newestAPI = 24
	oldestAPI = 17
)

const (
	opLoad = "ort.load"
	opOpen = "ort.open"
	opRun  = "ort.run"
)

// runtimeLibrary is a loaded library of ONNX Runtime. A process loads at most one, and never unloads it.
type runtimeLibrary struct {
	// path is the file, and version its version, such as "1.32.0".
	path, version string
	// api is the version of the table.
	api   int
	table uintptr
	// throw is the function of the C++ runtime that throws std::bad_alloc.
	throw uintptr

	// mu is held while the environment is created, and while a session is: the allocator that is registered
	// then becomes that of the session.
	mu sync.Mutex
	// environment, memoryInfo and texts are 0 until the first session. texts is the allocator of names.
	environment, memoryInfo, texts uintptr
	// memoryInfos describe the memory of devices other than the host, which never end.
	memoryInfos map[device.ID]uintptr
}

// loader loads the library once. After an error it tries again: the next one may be there.
type loader struct {
	mu     sync.Mutex
	loaded *runtimeLibrary
}

var process loader

// library returns the library of the process. Errors: CodeUnsupported, with the reason and what was tried.
func (l *loader) library() (*runtimeLibrary, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loaded != nil {
		return l.loaded, nil
	}
	made, err := load(names())
	if err != nil {
		return nil, err
	}
	l.loaded = made
	return made, nil
}

// names returns the names by which the library is searched. If FERRUM_ORT_LIBRARY is set, this is only its
// path. A library that is loaded already is found by the first name, wherever its file is: the Python
// package loads that of an installed wheel before it asks for the engine.
func names() []string {
	if path := dl.PathIn(EnvLibrary); path != "" {
		return []string{path}
	}
	switch runtime.GOOS {
	case "linux", "freebsd":
		return []string{"libonnxruntime.so.1", "libonnxruntime.so"}
	case "darwin":
		return []string{"libonnxruntime.dylib"}
	}
	return nil
}

func unavailable(format string, values ...any) error {
	return device.Errorf(device.CodeUnsupported, opLoad, "ONNX Runtime: "+format, values...)
}

// load loads the first library of the names that can be loaded.
func load(names []string) (*runtimeLibrary, error) {
	if err := canThrow(); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, unavailable("it is not loaded on %s", runtime.GOOS)
	}
	opened, err := dl.Open(names...)
	if err != nil {
		return nil, unavailable("%w; %s has the path of another one", err, EnvLibrary)
	}
	base, isThere := opened.Symbol("OrtGetApiBase")
	if !isThere {
		return nil, unavailable("%s lacks OrtGetApiBase", opened.Name)
	}
	r := &runtimeLibrary{path: dl.FileOf(base, opened.Name)}
	if r.throw, isThere = opened.Symbol("_ZSt17__throw_bad_allocv"); !isThere {
		return nil, unavailable("%s does not use a shared C++ runtime, through which it is told that memory is missing", r.path)
	}
	if err := r.takeTable(dl.CallWord(base)); err != nil {
		return nil, err
	}
	var missing []string
	for _, each := range functions() {
		if r.function(each.at) == 0 {
			missing = append(missing, each.name)
		}
	}
	if len(missing) > 0 {
		return nil, unavailable("%s (version %s) lacks %s", r.path, r.version, strings.Join(missing, ", "))
	}
	return r, nil
}

// apiBase is struct OrtApiBase.
type apiBase struct{ getAPI, getVersion uintptr }

// takeTable asks for the newest table that the library has.
func (r *runtimeLibrary) takeTable(at uintptr) error {
	if at == 0 {
		return unavailable("%s: OrtGetApiBase returns NULL", r.path)
	}
	base := (*apiBase)(pointerTo(at))
	if base.getAPI == 0 || base.getVersion == 0 {
		return unavailable("%s: OrtApiBase lacks GetApi or GetVersionString", r.path)
	}
	r.version = dl.TextAt(dl.CallWord(base.getVersion), maxText)
	first := newestAPI
	// The library writes a message to the standard error if it lacks a version, so those that it cannot have
	// are not asked for.
	if parts := strings.Split(r.version, "."); len(parts) > 1 && parts[0] == "1" {
		if minor, err := strconv.Atoi(parts[1]); err == nil {
			first = min(first, minor)
		}
	}
	for r.api = first; r.api >= oldestAPI; r.api-- {
		if r.table = dl.CallWord(base.getAPI, uintptr(r.api)); r.table != 0 {
			return nil
		}
	}
	return unavailable("%s has version %s, and at least 1.%d is needed", r.path, r.version, oldestAPI)
}

// pointerTo converts an address outside the Go heap.
func pointerTo(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

// pointersAt is an array of pointers outside the Go heap.
func pointersAt(at uintptr, count int) []uintptr {
	return unsafe.Slice((*uintptr)(pointerTo(at)), count)
}

func (r *runtimeLibrary) function(f function) uintptr {
	return *(*uintptr)(unsafe.Add(pointerTo(r.table), uintptr(f)*unsafe.Sizeof(uintptr(0))))
}

// call calls a function that returns a status. Errors: as of statusError.
func (r *runtimeLibrary) call(op string, f function, arguments ...uintptr) error {
	if status := dl.CallWord(r.function(f), arguments...); status != 0 {
		return r.statusError(op, f, status)
	}
	return nil
}

// release calls a function that returns nothing.
func (r *runtimeLibrary) release(f function, what uintptr) {
	if what != 0 {
		dl.CallWord(r.function(f), what)
	}
}

// maxText bounds the texts of the library that are read.
const maxText = 4 << 10

// statusError turns a status into an error with its text, and releases it.
func (r *runtimeLibrary) statusError(op string, f function, status uintptr) error {
	number := int64(int32(dl.CallWord(r.function(errorCode), status)))
	text := strings.TrimSpace(dl.TextAt(dl.CallWord(r.function(errorMessage), status), maxText))
	r.release(releaseStatus, status)
	return device.Errorf(codeOf(number, text), op, "ONNX Runtime %s: %v: %s", r.version, f, text).WithNative(number)
}

// codeOf returns the code for an error of ONNX Runtime.
func codeOf(number int64, text string) device.Code {
	switch number {
	case 2: // ORT_INVALID_ARGUMENT; up to 1.21 also for a graph that the library cannot read
		return refusal(text, device.CodeInvalidArgument)
	case 7: // ORT_INVALID_PROTOBUF
		return device.CodeInvalidFormat
	case 9: // ORT_NOT_IMPLEMENTED
		return device.CodeUnsupported
	case 3, 4, 8, 10: // ORT_NO_SUCHFILE, ORT_NO_MODEL, ORT_MODEL_LOADED, ORT_INVALID_GRAPH
		return refusal(text, device.CodeModel)
	}
	for _, part := range []string{"std::bad_alloc", "CUDA failure 2:", "CUBLAS_STATUS_ALLOC_FAILED"} {
		if strings.Contains(text, part) {
			return device.CodeOutOfMemory
		}
	}
	return refusal(text, device.CodeDevice)
}

// refusal returns CodeUnsupported if a text states that the library lacks an operator, a type of one, or an
// opset, or that a provider or what it needs is missing or too old.
func refusal(text string, otherwise device.Code) device.Code {
	for _, part := range []string{"is not a registered function/op", "No Op registered for", "Could not find an implementation", "No opset import for domain", "is till opset", "Unsupported model IR version",
		"Failed to load library", "Failed to load shared library", "cannot open shared object file", "is not enabled in this build",
		"driver version is insufficient", "not supported in the installed CUDA driver", "no kernel image is available", "no CUDA-capable device"} {
		if strings.Contains(text, part) {
			return device.CodeUnsupported
		}
	}
	return otherwise
}

// prepare creates the environment, which is one for the process. The caller holds mu.
func (r *runtimeLibrary) prepare() error {
	if r.texts != 0 {
		return nil
	}
	const fatal = 4 // only the last messages are written to the standard error
	name := text("ferrum_mem")
	if r.environment == 0 {
		if err := r.call(opOpen, createEnvironment, fatal, dl.Pointer(&name[0]), dl.Pointer(&r.environment)); err != nil {
			return err
		}
	}
	const deviceAllocator, defaultMemory = 0, 0
	if r.memoryInfo == 0 {
		if err := r.call(opOpen, createMemoryInfo, deviceAllocator, defaultMemory, dl.Pointer(&r.memoryInfo)); err != nil {
			return err
		}
	}
	return r.call(opOpen, defaultAllocator, dl.Pointer(&r.texts))
}

// text returns a text that ends with a NUL.
func text(of string) []byte { return append([]byte(of), 0) }

// texts is an array of texts that C reads.
type texts struct {
	kept [][]byte
	at   []uintptr
}

func (l *texts) add(of string) {
	kept := text(of)
	l.kept, l.at = append(l.kept, kept), append(l.at, dl.Pointer(&kept[0]))
}

// pointer returns the address of the array, which is not empty.
func (l *texts) pointer() uintptr { return dl.Pointer(&l.at[0]) }

// String describes the library.
func (r *runtimeLibrary) String() string {
	return fmt.Sprintf("%s (version %s, table %d)", r.path, r.version, r.api)
}
