package cuda

import (
	"runtime"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

// within runs body with the device's context current on this thread, and leaves the
// thread with what was current before. A lost device does not get that far.
func (o *openDevice) within(op string, body func() error) error {
	if err := o.outsideHostFunction(op); err != nil {
		return err
	}
	o.gate.RLock()
	defer o.gate.RUnlock()
	if err := o.usable(op); err != nil {
		return err
	}
	return o.current(op, body)
}

// current is within for those who give something back, also to a lost device. The
// mode for calls while a stream captures is the thread's: relaxed inside, so that a
// capture that somebody else has begun forbids nothing here and is not spoilt.
func (o *openDevice) current(op string, body func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if number := o.api.contextPush.Call(o.context); number != 0 {
		return o.failure(op, &o.api.contextPush, number, "")
	}
	mode := int32(captureRelaxed)
	relaxed := o.api.exchangeCapture.Found() && o.api.exchangeCapture.Call(dl.Pointer(&mode)) == 0
	defer func() {
		if relaxed {
			o.api.exchangeCapture.Call(dl.Pointer(&mode))
		}
		var former uintptr
		o.api.contextPop.Call(dl.Pointer(&former))
	}()
	return body()
}

// usable refuses a call on a device that is closed or lost.
func (o *openDevice) usable(op string) error {
	if err := o.checkOpen(op); err != nil {
		return err
	}
	if lost := o.lost.Load(); lost != nil {
		return o.isLost(op, lost)
	}
	return nil
}

func (o *openDevice) isLost(op string, first *device.Error) error {
	return device.Errorf(device.CodeDeviceLost, op, "the device is lost since %s: %w", first.Op, first).
		On(o.info.ID).WithNative(first.Native)
}

// outsideHostFunction refuses what the driver forbids to a function that a stream
// runs: to call it.
func (o *openDevice) outsideHostFunction(op string) error {
	if insideHostFunction() {
		return o.errorf(device.CodeInvalidState, op, "called from a host function, in which CUDA cannot be called")
	}
	return nil
}

// call calls a function of the library in the current context. what names the
// arguments and their values, for the message.
func (o *openDevice) call(op, what string, f *dl.Function, arguments ...uintptr) error {
	if number := f.Call(arguments...); number != 0 {
		return o.failure(op, f, number, what)
	}
	return nil
}

// takeBack gives back what no caller knows of, so that nobody else would try again: one
// refusal is not believed.
func (o *openDevice) takeBack(op, what string, f *dl.Function, arguments ...uintptr) error {
	if f.Call(arguments...) == 0 {
		return nil
	}
	return o.call(op, what, f, arguments...)
}

// failure is the error of a call, and marks the device as lost where it is.
func (o *openDevice) failure(op string, f *dl.Function, number int32, what string) error {
	err := o.api.refused(op, f, number)
	err.On(o.info.ID)
	if what != "" {
		err.Message = what + ": " + err.Message
	}
	reset := number == resultContextDestroyed || number == resultInvalidContext
	if !reset && (number == resultInvalidValue || number == resultInvalidHandle) {
		reset = o.contextReplaced()
	}
	if reset {
		err.Code = device.CodeDeviceLost
		err.Message += "; the program reset the device's primary context, and with it all that was in it"
	}
	if err.Code == device.CodeDeviceLost {
		o.lost.CompareAndSwap(nil, err)
	}
	return err
}

// contextReplaced says whether the primary context was reset and then made again: its
// handle stays, its number does not.
func (o *openDevice) contextReplaced() bool {
	if o.contextNumber == 0 {
		return false
	}
	var now uint64
	number := o.api.contextID.Call(o.context, dl.Pointer(&now))
	return number == resultContextDestroyed || number == resultInvalidContext || number == 0 && now != o.contextNumber
}

// returned decides about an error of a call that gives something back: a lost device
// holds nothing, so that there it is given back.
func (o *openDevice) returned(err error) error {
	if err != nil && o.lost.Load() != nil {
		return nil
	}
	return err
}
