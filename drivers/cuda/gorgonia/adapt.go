//go:build gorgonia

package gorgonia

import (
	"unsafe"

	"gorgonia.org/cu"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/cuda"
)

// Open opens the device of a context of cu on that context, which the program keeps
// until the device is closed. Memory of it is memory of the context, for cu and for
// pools over the device alike.
func Open(of cu.Device, context cu.CUContext) (device.Device, error) {
	return cuda.New(cuda.Config{}).OpenContext(int(of), native(context))
}

// native is the handle that a context of cu has and does not give out: a CUContext is
// nothing but that.
func native(context cu.CUContext) uint64 {
	return uint64(*(*uintptr)(unsafe.Pointer(&context)))
}

// AdoptStream gives a stream of the device that queues its work in a stream of cu's,
// which its owner keeps until Close has returned. The zero Stream is the legacy default
// stream of CUDA.
func AdoptStream(dev device.Device, stream cu.Stream) (device.Stream, error) {
	const op = "gorgonia.adopt_stream"
	adopter, ok := dev.(device.StreamAdopter)
	if !ok {
		return nil, device.Errorf(device.CodeUnsupported, op, "the device takes no streams of others").On(dev.Info().ID)
	}
	handle := uint64(uintptr(unsafe.Pointer(stream.C())))
	if handle == 0 {
		handle = legacyStream
	}
	return adopter.AdoptStream(device.ForeignStream{Native: handle})
}

// legacyStream is how the driver numbers the stream that cu calls by 0.
const legacyStream = 1

// Pointer is an address of the device as cu has it.
func Pointer(addr device.Addr) cu.DevicePtr { return cu.DevicePtr(addr) }

// The compiler holds that a context is one handle: either length below is negative
// otherwise.
var (
	_ [unsafe.Sizeof(cu.CUContext{}) - unsafe.Sizeof(uintptr(0))]struct{}
	_ [unsafe.Sizeof(uintptr(0)) - unsafe.Sizeof(cu.CUContext{})]struct{}
)
