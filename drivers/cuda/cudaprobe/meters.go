package cudaprobe

import (
	"fmt"
	"runtime"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// EnvMeters is the environment variable with the path of NVML, the library that reports on
// devices without a context on them.
const EnvMeters = "FERRUM_NVML_LIBRARY"

// meters holds the functions of NVML that a probe calls.
type meters struct {
	end, byUUID, memory uintptr
	// running is optional.
	running uintptr
}

// meterNames returns the names by which NVML is searched. When another driver library is
// named, the system's NVML is left out, because it would report the devices of another
// driver.
func meterNames() []string {
	if path := dl.PathIn(EnvMeters); path != "" {
		return []string{path}
	}
	if dl.PathIn(EnvLibrary) != "" || runtime.GOOS != "linux" {
		return nil
	}
	return []string{"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"}
}

// openMeters loads and initializes NVML. It returns nil if NVML is missing or not usable.
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

// moreThan is the part of a device by which NVML's total may exceed the vendor driver's:
// the memory that the driver keeps for itself. A larger difference means that NVML reports
// another device, for example the device that an instance belongs to.
const moreThan = 8

// find returns the handle of the device with this UUID. 0: NVML has no such device.
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

// free returns the free memory of a device whose total the vendor driver has reported.
// false: NVML reports no value, or the value of another device.
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

// nvmlProcess is nvmlProcessInfo_v2_t, which is also the layout of version 3 of the call.
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

// processes returns the processes with a context on a device. nil: NVML does not report
// them. New processes can appear between the query of the count and the query of the list,
// so the buffer has some spare items.
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
