package cudaprobe

import (
	"fmt"
	"os"
	"runtime"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

// EnvMeters is the environment variable with the path of NVML, the library that tells of
// devices without a context on them.
const EnvMeters = "FERRUM_NVML_LIBRARY"

// meters is what is asked of NVML.
type meters struct {
	end, byUUID, memory uintptr
	// running is optional.
	running uintptr
}

// meterNames are those under which NVML is looked for. Where another driver is named, it is
// not that of the system, which would tell of other devices.
func meterNames() []string {
	path := os.Getenv(EnvMeters)
	switch {
	case path != "" && !hasMoreRights():
		return []string{path}
	case libraryPath() != "" || runtime.GOOS != "linux":
		return nil
	}
	return []string{"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"}
}

// openMeters begins to use NVML; nil: it is not there, or of no use here.
func openMeters() *meters {
	names := meterNames()
	if names == nil {
		return nil
	}
	library, err := dl.Open(names...)
	if err != nil {
		return nil
	}
	var begin uintptr
	m := &meters{}
	err = library.Require(map[string]*uintptr{
		"nvmlInit_v2": &begin, "nvmlShutdown": &m.end,
		"nvmlDeviceGetHandleByUUID": &m.byUUID, "nvmlDeviceGetMemoryInfo": &m.memory,
	})
	if err != nil || dl.Call(begin) != 0 {
		return nil
	}
	var found bool
	if m.running, found = library.Symbol("nvmlDeviceGetComputeRunningProcesses_v3"); !found {
		m.running, _ = library.Symbol("nvmlDeviceGetComputeRunningProcesses_v2")
	}
	return m
}

func (m *meters) close() {
	if m != nil {
		dl.Call(m.end)
	}
}

// nvmlMemory is nvmlMemory_t.
type nvmlMemory struct{ total, free, _ uint64 }

// moreThan is the part of a device by which NVML's total may be above the driver's: what the
// driver keeps for itself. More than that is of another device, such as the one that an
// instance is a part of.
const moreThan = 8

// find is the handle of the device with that UUID; 0: NVML has none.
func (m *meters) find(uuid [16]byte) uintptr {
	if handle := m.named("GPU", uuid); handle != 0 {
		return handle
	}
	return m.named("MIG", uuid)
}

func (m *meters) named(kind string, uuid [16]byte) uintptr {
	text := append(fmt.Appendf(nil, "%s-%x-%x-%x-%x-%x", kind, uuid[:4], uuid[4:6], uuid[6:8], uuid[8:10], uuid[10:]), 0)
	var handle uintptr
	code := dl.Call(m.byUUID, dl.Pointer(&text[0]), dl.Pointer(&handle))
	runtime.KeepAlive(text)
	if code != 0 {
		return 0
	}
	return handle
}

// free is the free memory of a device whose driver says how much it has; false: NVML does
// not tell, or tells of something else.
func (m *meters) free(handle uintptr, total uint64) (uint64, bool) {
	var of nvmlMemory
	if dl.Call(m.memory, handle, dl.Pointer(&of)) != 0 {
		return 0, false
	}
	if of.total < total || of.total-total > total/moreThan || of.free > of.total {
		return 0, false
	}
	return min(of.free, total), true
}

// nvmlProcess is nvmlProcessInfo_v2_t, which the third form of the call has too.
type nvmlProcess struct {
	pid  uint32
	used uint64
	_, _ uint32
}

const (
	nvmlInsufficientSize = 7          // NVML_ERROR_INSUFFICIENT_SIZE
	nvmlNotAvailable     = ^uint64(0) // NVML_VALUE_NOT_AVAILABLE
	mostProcesses        = 1 << 16
)

// processes are those with a context on a device; nil: NVML does not tell. Processes
// come while it is asked how many there are, so there is room for some more.
func (m *meters) processes(handle uintptr) []device.ProcessUse {
	if m.running == 0 {
		return nil
	}
	for count := uint32(64); count <= mostProcesses; {
		list := make([]nvmlProcess, count)
		code := dl.Call(m.running, handle, dl.Pointer(&count), dl.Pointer(&list[0]))
		runtime.KeepAlive(list)
		if code == nvmlInsufficientSize {
			count = max(count, uint32(len(list))) * 2
			continue
		}
		if code != 0 || int(count) > len(list) {
			return nil
		}
		found := make([]device.ProcessUse, 0, count)
		for _, p := range list[:count] {
			use := device.ProcessUse{PID: p.pid}
			if p.used != nvmlNotAvailable {
				use.UsedBytes = &p.used
			}
			found = append(found, use)
		}
		return found
	}
	return nil
}
