package cuda

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/ranges"
	"ferrum_mem/internal/dl"
)

// CanCopyFrom queries whether this device can access the memory of the other device. A
// device can access its own memory.
func (o *openDevice) CanCopyFrom(src device.Device) bool {
	from, ok := src.(*openDevice)
	if !ok || from == nil || !o.info.Peer || from.driver.api != o.ctx.api || o.ctx.closed.Load() || from.ctx.closed.Load() {
		return false
	}
	if from.ctx.cuDevice == o.ctx.cuDevice {
		return true
	}
	var can int32
	return o.ctx.api.canAccessPeer.Call(dl.Pointer(&can), uintptr(o.ctx.cuDevice), uintptr(from.ctx.cuDevice)) == 0 && can != 0
}

// CopyFromPeer queues a copy from another device of this driver.
func (o *openDevice) CopyFromPeer(
	on device.Stream, dst device.Addr, src device.Device, srcAddr device.Addr, size uint64,
) error {
	const op = "cuda.copy_from_peer"
	s, ok := on.(*stream)
	if !ok || s == nil || s.owner != o {
		return o.ctx.errorf(device.CodeInvalidArgument, op, "stream: of type %T, which is not this device's", on)
	}
	if err := s.check(op); err != nil {
		return err
	}
	if !o.CanCopyFrom(src) {
		return o.ctx.errorf(device.CodeUnsupported, op, "the device cannot copy from a device of type %T", src)
	}
	from := src.(*openDevice)
	if err := o.check(op, "destination", dst, size, device.AccessReadWrite); err != nil {
		return err
	}
	if err := from.check(op, "source", srcAddr, size, device.AccessRead); err != nil {
		return err
	}
	return s.use(op, func() error {
		// Managed or linked memory can be the same memory on both devices.
		if from.ctx.cuDevice == o.ctx.cuDevice || overlap(uint64(dst), uint64(srcAddr), size) {
			return s.moveAnyhow(op, uint64(dst), uint64(srcAddr), size)
		}
		if err := from.ctx.usable(op); err != nil {
			return err
		}
		return o.callWith(from, op,
			fmt.Sprintf("destination %#x, source %#x of %v, size %d", uint64(dst), uint64(srcAddr), from.info.ID, size),
			&o.ctx.api.copyPeer, uintptr(dst), o.contextOf(uint64(dst), size), uintptr(srcAddr), from.contextOf(uint64(srcAddr), size),
			uintptr(size), s.handle)
	})
}

// contextOf returns the context of the memory. Linked memory is in the context of the
// device that owns it.
func (o *openDevice) contextOf(addr, size uint64) uintptr {
	s, _ := o.ranges.Holding(addr, size)
	if s.Kind == ranges.Linked && s.Owner != nil && !s.Owner.ctx.closed.Load() {
		return s.Owner.ctx.context
	}
	return o.ctx.context
}

// callWith is like call, for a call that uses another device as well.
func (o *openDevice) callWith(other *openDevice, op, what string, f *dl.Function, arguments ...uintptr) error {
	if number := f.Call(arguments...); number != 0 {
		return o.failureWith(other, op, f, number, what)
	}
	return nil
}

// failureWith is like failure, for a call that uses another device as well. If the number
// means that a device is lost, this may be the other device.
func (o *openDevice) failureWith(other *openDevice, op string, f *dl.Function, number int32, what string) error {
	if other.ctx.context != o.ctx.context && (mayMeanGone(number) || isFinal(number)) {
		if err := other.checkAlive(op); err != nil {
			return err
		}
	}
	return o.ctx.failure(op, f, number, what)
}

// checkAlive checks that the device's context exists and works.
func (o *openDevice) checkAlive(op string) error {
	return o.ctx.within(op, func() error {
		if o.ctx.contextIsGone() {
			return o.ctx.failure(op, &o.ctx.api.contextPush, resultContextDestroyed, "")
		}
		// The scrub stream never takes part in a capture.
		_, err := o.ctx.ready(op, &o.ctx.api.streamQuery, o.scrub.stream.handle)
		return err
	})
}
