package metalprobe

import (
	"github.com/ebitengine/purego"
	"github.com/ebitengine/purego/objc"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

const framework = "/System/Library/Frameworks/Metal.framework/Metal"

// pageBytes is the alignment of buffer addresses on Apple processors. On other processors
// it is larger than needed.
const pageBytes = 16 << 10

// Survey queries the framework for all devices. The capacity is the working set that the
// system recommends. Free memory would be the capacity minus the allocations of this
// process. A process without allocations would always read the whole capacity, so free
// memory is reported as unknown.
func (Prober) Survey() device.Survey {
	library, err := dl.Open(framework)
	if err != nil {
		return err.(*dl.Failure).Survey()
	}
	var all uintptr
	if err := library.Require(map[string]*uintptr{"MTLCopyAllDevices": &all}); err != nil {
		return err.(*dl.Failure).Survey()
	}
	pool := objc.ID(objc.GetClass("NSAutoreleasePool")).Send(objc.RegisterName("new"))
	defer pool.Send(objc.RegisterName("drain"))
	address, _, _ := purego.SyscallN(all)
	list := objc.ID(address)
	if list == 0 {
		return device.Absent(device.AbsenceNoDevice, 0, "no device: MTLCopyAllDevices gave none")
	}
	defer list.Send(objc.RegisterName("release"))
	count := objc.Send[uint64](list, objc.RegisterName("count"))
	if count == 0 {
		return device.Absent(device.AbsenceNoDevice, 0, "no device: MTLCopyAllDevices gave an empty list")
	}
	found := device.Survey{Library: library.Name}
	for index := range count {
		one := objc.Send[objc.ID](list, objc.RegisterName("objectAtIndex:"), index)
		name := objc.Send[objc.ID](one, objc.RegisterName("name"))
		found.Devices = append(found.Devices, device.Surveyed{
			Index:              int(index),
			Name:               objc.Send[string](name, objc.RegisterName("UTF8String")),
			TotalBytes:         objc.Send[uint64](one, objc.RegisterName("recommendedMaxWorkingSetSize")),
			UnifiedMemory:      objc.Send[bool](one, objc.RegisterName("hasUnifiedMemory")),
			MaxAllocationBytes: objc.Send[uint64](one, objc.RegisterName("maxBufferLength")),
			AlignmentBytes:     pageBytes,
		})
	}
	return found
}
