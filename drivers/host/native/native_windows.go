package native

import (
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// memoryStatus is MEMORYSTATUSEX.
type memoryStatus struct {
	length, load                        uint32
	totalPhysical, availablePhysical    uint64
	totalPageFile, availablePageFile    uint64
	totalVirtual, availableVirtual, ext uint64
}

var globalMemoryStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

func readMemory() (memoryStatus, bool) {
	status := memoryStatus{length: uint32(unsafe.Sizeof(memoryStatus{}))}
	if globalMemoryStatus.Find() != nil {
		return status, false
	}
	done, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&status)))
	return status, done != 0
}

// MemTotal returns the memory of the machine.
func MemTotal() uint64 {
	status, known := readMemory()
	if !known {
		return 0
	}
	return status.totalPhysical
}

// MemAvailable returns the memory that is available without paging. false: not known.
func MemAvailable() (uint64, bool) {
	status, known := readMemory()
	return status.availablePhysical, known
}

// Processor returns the model of the first processor, or "".
func Processor() string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `HARDWARE\DESCRIPTION\System\CentralProcessor\0`, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer key.Close()
	name, _, err := key.GetStringValue("ProcessorNameString")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(name), " ")
}
