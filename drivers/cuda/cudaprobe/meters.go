package cudaprobe

import (
	"fmt"
	"os"
	"runtime"

	"ferrum_mem/drivers/internal/dl"
)

// EnvMeters is the environment variable with the path of NVML, the library that tells of
// devices without a context on them.
const EnvMeters = "FERRUM_NVML_LIBRARY"

// meters is what is asked of NVML.
type meters struct{ end, byUUID, memory uintptr }

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

// free is the free memory of the device with that UUID, whose driver says how much it has;
// false: NVML does not tell, or tells of something else.
func (m *meters) free(uuid [16]byte, total uint64) (uint64, bool) {
	for _, kind := range []string{"GPU", "MIG"} {
		text := append(fmt.Appendf(nil, "%s-%x-%x-%x-%x-%x", kind, uuid[:4], uuid[4:6], uuid[6:8], uuid[8:10], uuid[10:]), 0)
		var handle uintptr
		code := dl.Call(m.byUUID, dl.Pointer(&text[0]), dl.Pointer(&handle))
		runtime.KeepAlive(text)
		if code != 0 {
			continue
		}
		var of nvmlMemory
		if dl.Call(m.memory, handle, dl.Pointer(&of)) != 0 {
			return 0, false
		}
		if of.total < total || of.total-total > total/moreThan || of.free > of.total {
			return 0, false
		}
		return min(of.free, total), true
	}
	return 0, false
}
