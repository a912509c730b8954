package cuda

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

// CanCopyFrom asks the driver whether the one device reaches the other's memory; a
// device reaches its own.
func (o *openDevice) CanCopyFrom(src device.Device) bool {
	from, ok := src.(*openDevice)
	if !ok || from == nil || !o.info.Peer || from.driver.api != o.api || o.closed.Load() || from.closed.Load() {
		return false
	}
	if from.handle == o.handle {
		return true
	}
	var can int32
	return o.api.canAccessPeer.Call(dl.Pointer(&can), uintptr(o.handle), uintptr(from.handle)) == 0 && can != 0
}

// CopyFromPeer queues a copy from another device of this driver.
func (o *openDevice) CopyFromPeer(
	on device.Stream, dst device.Addr, src device.Device, srcAddr device.Addr, size uint64,
) error {
	const op = "cuda.copy_from_peer"
	s, ok := on.(*stream)
	if !ok || s == nil || s.owner != o {
		return o.errorf(device.CodeInvalidArgument, op, "stream: of type %T, which is not this device's", on)
	}
	if err := s.check(op); err != nil {
		return err
	}
	if !o.CanCopyFrom(src) {
		return o.errorf(device.CodeUnsupported, op, "the device cannot copy from a device of type %T", src)
	}
	from := src.(*openDevice)
	if err := o.check(op, "destination", dst, size, device.AccessReadWrite); err != nil {
		return err
	}
	if err := from.check(op, "source", srcAddr, size, device.AccessRead); err != nil {
		return err
	}
	return s.use(op, func() error {
		if from.handle == o.handle {
			return s.move(op, uint64(dst), uint64(srcAddr), size)
		}
		return o.call(op, fmt.Sprintf("destination %#x, source %#x of %v, size %d", uint64(dst), uint64(srcAddr), from.info.ID, size),
			&o.api.copyPeer, uintptr(dst), o.context, uintptr(srcAddr), from.context, uintptr(size), s.handle)
	})
}
