//go:build gorgonia

package gorgonia

import (
	"unsafe"

	"gorgonia.org/cu"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/cuda"
)

// Open opens the device of a context of cu on that context. The program must keep the
// context until the device is closed. Both cu and pools over the device use memory of that
// context.
func Open(of cu.Device, context cu.CUContext) (device.Device, error) {
	return cuda.New(cuda.Config{}).OpenContext(int(of), native(context))
}

// native returns the handle inside a context of cu, which does not export it. The context
// is only a CUContext.
func native(context cu.CUContext) uint64 {
	return uint64(*(*uintptr)(unsafe.Pointer(&context)))
}

// AdoptStream returns a stream of the device that queues its work in a stream of cu. Its
// owner must keep that stream until Close has returned. The zero Stream is the legacy
// default stream of CUDA.
func AdoptStream(dev device.Device, stream cu.Stream) (device.Stream, error) {
	const op = "gorgonia.adopt_stream"
	adopter, ok := dev.(device.StreamAdopter)
	if !ok {
		return nil, device.Errorf(device.CodeUnsupported, op, "the device cannot adopt streams").On(dev.Info().ID)
	}
	handle := uint64(uintptr(unsafe.Pointer(stream.C())))
	if handle == 0 {
		handle = legacyStream
	}
	return adopter.AdoptStream(device.ForeignStream{Native: handle})
}

// legacyStream is the driver's number of the stream that cu numbers 0.
const legacyStream = 1

// Pointer converts an address of the device to the type of cu.
func Pointer(addr device.Addr) cu.DevicePtr { return cu.DevicePtr(addr) }

// The compiler checks that a context is one handle: otherwise one of the lengths below is
// negative.
var (
	_ [unsafe.Sizeof(cu.CUContext{}) - unsafe.Sizeof(uintptr(0))]struct{}
	_ [unsafe.Sizeof(uintptr(0)) - unsafe.Sizeof(cu.CUContext{})]struct{}
)
