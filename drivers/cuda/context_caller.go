package cuda

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

var (
	_ device.ContextOpener = (*Driver)(nil)
	_ device.Finder        = (*Driver)(nil)
	_ device.Native        = (*openDevice)(nil)
	_ device.Native        = (*stream)(nil)
	_ device.Native        = (*event)(nil)
	_ device.ContextRunner = (*stream)(nil)
)

// OpenContext opens a device on a CUcontext of the program. The program must keep the
// context until the device is closed. The call does not retain the primary context.
func (d *Driver) OpenContext(index int, native uint64) (device.Device, error) {
	const op = "cuda.open_context"
	one, err := d.at(op, index)
	if err != nil {
		return nil, err
	}
	if native == 0 {
		return nil, device.Errorf(device.CodeNullPointer, op, "native context: must not be 0").On(one.info.ID)
	}
	o, err := newOpenDevice(d, one, uintptr(native))
	if err != nil {
		return nil, err
	}
	return o, nil
}

// enterContext selects the context of all calls of the device: callers, or the primary
// context of the device if callers is 0.
func (c *driverContext) enterContext(op string, callers uintptr) error {
	if callers == 0 {
		if err := c.retainContext(op); err != nil {
			return err
		}
	} else {
		c.context, c.callers = callers, true
		if err := c.checkContext(op); err != nil {
			return err
		}
	}
	if c.api.contextID.Found() && c.api.contextID.Call(c.context, dl.Pointer(&c.contextNumber)) != 0 {
		c.contextNumber = 0
	}
	return nil
}

// checkContext returns an error if the context was destroyed or belongs to another device.
func (c *driverContext) checkContext(op string) error {
	var of int32
	err := c.within(op, func() error {
		return c.call(op, "", &c.api.contextDevice, dl.Pointer(&of))
	})
	what := fmt.Sprintf("native context %#x", c.context)
	if device.CodeOf(err) == device.CodeDeviceLost {
		return c.errorf(device.CodeInvalidArgument, op, "%s: is not a live context: %v", what, err)
	}
	if err == nil && of != c.cuDevice {
		return c.errorf(device.CodeInvalidArgument, op, "%s: is one of the CUDA device %d", what, of)
	}
	return err
}

// leaveContext releases the primary context. A context of the program stays.
func (c *driverContext) leaveContext() {
	if !c.callers {
		c.releaseContext()
	}
}

// NativeHandle returns the CUcontext that all calls of the device use.
func (o *openDevice) NativeHandle() (uint64, error) {
	return uint64(o.ctx.context), o.ctx.checkOpen("cuda.native_handle")
}

// NativeHandle returns the CUstream.
func (s *stream) NativeHandle() (uint64, error) {
	const op = "cuda.native_handle"
	s.using.RLock()
	defer s.using.RUnlock()
	if err := s.check(op); err != nil {
		return 0, err
	}
	s.mayNowCapture()
	return uint64(s.handle), s.owner.ctx.checkOpen(op)
}

// InContext calls work with the primary context current. It holds no lock meanwhile, because work may call
// this driver.
func (s *stream) InContext(work func() error) error {
	const op = "cuda.in_context"
	c := &s.owner.ctx
	if err := s.check(op); err != nil {
		return err
	}
	if c.callers {
		return c.errorf(device.CodeUnsupported, op, "the device was opened on a context of the program, and other code works in the primary one")
	}
	if err := c.outsideHostFunction(op); err != nil {
		return err
	}
	if err := c.usable(op); err != nil {
		return err
	}
	return c.current(op, work)
}

// NativeHandle returns the CUevent, which has been recorded.
func (e *event) NativeHandle() (uint64, error) {
	e.using.RLock()
	defer e.using.RUnlock()
	if e.gone() {
		return 0, e.owner.ctx.errorf(device.CodeInvalidState, "cuda.native_handle", "the event or its device is closed")
	}
	return uint64(e.handle), nil
}
