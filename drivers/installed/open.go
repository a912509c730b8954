package installed

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// Variable is the variable of the environment with the path of the library.
const Variable = "FERRUM_MEM_LIBRARY"

// FileName is the name of the library.
const FileName = "libferrum_mem.so.0"

const (
	// leastABI is the first version of the binary interface that has all functions of the table.
	leastABI = 18
	opOpen   = "installed.open"
)

// Library is the loaded and started library.
type Library struct {
	// Path is the file, or the name by which the system's loader found it.
	Path string
	functions
	// onProgress is called during a build.
	onProgress func(Progress) (goOn bool)
	// progress is the C function that calls onProgress.
	progress uintptr
}

// functions are the functions of the library that this package calls.
type functions struct {
	abiVersion, start, stop, lastError dl.Function
	deviceOpen, deviceClose            dl.Function
	poolCreate, poolDestroy            dl.Function
	computeOpen, computeClose          dl.Function
	backends                           dl.Function
	plan, build, run, info, destroy    dl.Function
	sleep, wake                        dl.Function
	tensorWrap, tensorDescribe         dl.Function
	tensorRead, tensorDestroy          dl.Function
}

func (f *functions) table() []dl.Row {
	return []dl.Row{
		{Name: "ferrum_abi_version", To: &f.abiVersion}, {Name: "ferrum_init", To: &f.start},
		{Name: "ferrum_shutdown", To: &f.stop}, {Name: "ferrum_last_error", To: &f.lastError},
		{Name: "ferrum_device_open", To: &f.deviceOpen}, {Name: "ferrum_device_close", To: &f.deviceClose},
		{Name: "ferrum_elastic_pool_create", To: &f.poolCreate}, {Name: "ferrum_elastic_pool_destroy", To: &f.poolDestroy},
		{Name: "ferrum_compute_open", To: &f.computeOpen}, {Name: "ferrum_compute_close", To: &f.computeClose},
		{Name: "ferrum_compute_backends_json", To: &f.backends},
		{Name: "ferrum_compute_plan_json", To: &f.plan}, {Name: "ferrum_executor_build", To: &f.build},
		{Name: "ferrum_executor_run", To: &f.run}, {Name: "ferrum_executor_info_json", To: &f.info},
		{Name: "ferrum_executor_destroy", To: &f.destroy}, {Name: "ferrum_executor_sleep", To: &f.sleep},
		{Name: "ferrum_executor_wake", To: &f.wake}, {Name: "ferrum_tensor_wrap", To: &f.tensorWrap},
		{Name: "ferrum_tensor_describe", To: &f.tensorDescribe}, {Name: "ferrum_tensor_read", To: &f.tensorRead},
		{Name: "ferrum_tensor_destroy", To: &f.tensorDestroy},
	}
}

// Progress is the progress of a build.
type Progress struct {
	Phase int32
	// Done is the part that is done, 0 to 1.
	Done                  float64
	DoneBytes, TotalBytes uint64
	// Operation states what the build does now.
	Operation string
}

// tell is called by the library during a build, and must not panic.
func (l *Library) tell(p *buildProgress) int32 {
	goOn := l.onProgress(Progress{Phase: p.phase, Done: p.progress, DoneBytes: p.doneBytes, TotalBytes: p.totalBytes, Operation: dl.Constant(p.operation)})
	if !goOn {
		return 1
	}
	return 0
}

// Open finds, loads and starts the library. If Variable is set, it names the library.
// Otherwise the library is in the folder lib beside the folder of the program, or where the
// system's loader finds it.
//
// Errors: CodeBackendUnavailable for a library that is not found, cannot be loaded, or is too
// old; errors of ferrum_init.
func Open() (*Library, error) {
	names := candidates()
	found, err := dl.Open(names...)
	if err != nil {
		return nil, unavailable("%v; set %s to the path of %s", err, Variable, FileName)
	}
	l := &Library{Path: found.Name}
	if _, err := found.Load(l.table()); err != nil {
		return nil, unavailable("%v; set %s to the path of another one", err, Variable)
	}
	if version := l.abiVersion.Call(); version < leastABI {
		return nil, unavailable("%s has version %d of the binary interface; this program needs at least %d", l.Path, version, leastABI)
	}
	if l.progress, err = dl.Answering(l.tell); err != nil {
		return nil, unavailable("%v", err)
	}
	if err := l.call(&l.start, 0); err != nil {
		return nil, err
	}
	return l, nil
}

func unavailable(format string, args ...any) error {
	return device.Errorf(device.CodeBackendUnavailable, opOpen, "the library that computes models: "+format, args...)
}

// candidates returns the names to load, in their order.
func candidates() []string {
	if named := os.Getenv(Variable); named != "" {
		return []string{named}
	}
	var names []string
	if program, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(program); err == nil {
			program = real
		}
		names = append(names, filepath.Join(filepath.Dir(program), "..", "lib", FileName))
	}
	return append(names, FileName)
}

// Close stops the library, which frees what was not closed.
func (l *Library) Close() error { return l.call(&l.stop, force) }

// call calls a function that returns a status. The record of an error belongs to the thread.
func (l *Library) call(f *dl.Function, arguments ...uintptr) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status := f.Call(arguments...)
	if status == 0 {
		return nil
	}
	return l.failure(f.Name, device.Code(status))
}

// failure returns the latest error of the calling thread.
func (l *Library) failure(name string, code device.Code) error {
	record := newStruct[errorInfo]()
	if l.lastError.Call(dl.Pointer(record)) != 0 || record.status != int32(code) {
		return device.Errorf(code, name, "%v", code)
	}
	err := device.Errorf(code, name, "%s", dl.Text(record.message[:]))
	if id := dl.Text(record.device[:]); id != "" && !strings.HasPrefix(err.Message, id) {
		err.Device = id
	}
	return err
}

// object reads a JSON text of the library into a value. arguments come before the buffer.
func (l *Library) object(f *dl.Function, to any, arguments ...uintptr) error {
	buffer := make([]byte, 64<<10)
	for {
		length := new(uint64)
		all := append(arguments[:len(arguments):len(arguments)], dl.Pointer(&buffer[0]), uintptr(len(buffer)), dl.Pointer(length))
		err := l.call(f, all...)
		if err == nil {
			return json.Unmarshal(buffer[:*length], to)
		}
		if device.CodeOf(err) != device.CodeBufferTooSmall || *length < uint64(len(buffer)) {
			return err
		}
		buffer = make([]byte, *length+1)
	}
}
