package cuda

import (
	"fmt"
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/ranges"
	"ferrum_mem/internal/dl"
)

var _ device.Registrar = (*openDevice)(nil)

// Register page-locks memory for all devices of the process.
func (o *openDevice) Register(host device.HostAddr, size uint64, access device.Access) (device.Addr, error) {
	const op = "cuda.register"
	if err := o.ctx.checkOpen(op); err != nil {
		return 0, err
	}
	if !o.info.Registrar {
		return 0, o.ctx.errorf(device.CodeUnsupported, op,
			"the device cannot use memory of the process that is page-locked later, or the driver lacks %v",
			o.driver.lacking[groupRegistered])
	}
	switch {
	case host == 0:
		return 0, o.ctx.errorf(device.CodeNullPointer, op, "address: must not be NULL")
	case size == 0:
		return 0, o.ctx.errorf(device.CodeInvalidSize, op, "size 0: there is nothing to page-lock")
	case size > math.MaxUint64-uint64(host):
		return 0, o.ctx.errorf(device.CodeOverflow, op, "address %#x, size %d: the end does not fit 64 bits", uint64(host), size)
	}
	readOnly, err := o.ctx.readOnly(op, access)
	if err != nil {
		return 0, err
	}
	if err := o.hold(op, 1); err != nil {
		return 0, err
	}
	made, err := o.lock(op, span{Size: size, Kind: ranges.Registered, Host: uint64(host), ReadOnly: readOnly})
	if err != nil {
		o.drop(1)
		return 0, err
	}
	return device.Addr(made.Base), nil
}

// lock page-locks memory, or finds that it already is page-locked, sets its address on the
// device, and adds it to the list of ranges.
func (o *openDevice) lock(op string, made span) (span, error) {
	host, size := made.Host, made.Size
	what := fmt.Sprintf("address %#x, size %d", host, size)
	flags := uintptr(registerPortable | registerDeviceMap)
	if made.ReadOnly && o.driver.attribute(o.ctx.cuDevice, attributeReadOnly) != 0 {
		flags |= registerReadOnly
	}
	err := o.ctx.within(op, func() error {
		f := &o.ctx.api.hostRegister
		switch number := f.Call(uintptr(host), uintptr(size), flags); number {
		case 0:
		case resultHostRegistered:
			made.Kind = ranges.Locked
			if err := o.checkForeign(op, host, size); err != nil {
				return err
			}
		case resultInvalidValue:
			err := o.ctx.failure(op, f, number, what).(*device.Error)
			if err.Code == device.CodeDevice {
				err.Code = device.CodeInvalidAddress
			}
			return err
		default:
			return o.ctx.failure(op, f, number, what)
		}
		err := o.ctx.call(op, what, &o.ctx.api.hostPointer, dl.Pointer(&made.Base), uintptr(host), 0)
		if err == nil {
			err = o.insertOther(op, made, device.Alone)
		}
		if err != nil && made.Kind == ranges.Registered {
			// Otherwise the next Register would treat the memory as external.
			o.ctx.finishFirst(op, what, &o.ctx.api.hostUnregister, uintptr(host))
		}
		return err
	})
	return made, err
}

// Unregister ends what Register began.
func (o *openDevice) Unregister(addr device.Addr, size uint64) error {
	const op = "cuda.unregister"
	if err := o.ctx.checkOpen(op); err != nil {
		return err
	}
	if _, found := o.ranges.Remove(ranges.Locked, uint64(addr), size); found {
		o.drop(1)
		return nil
	}
	return o.free(op, ranges.Registered, uint64(addr), size, &o.ctx.api.hostUnregister)
}
