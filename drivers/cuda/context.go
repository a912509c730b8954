package cuda

import (
	"runtime"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

// within runs body with the device's context current on this thread, and leaves the
// thread with what was current before. A lost device does not get that far.
func (o *openDevice) within(op string, body func() error) error {
	return o.enter(op, relaxed, body)
}

// entry is what a call has to change about its thread.
type entry bool

const (
	// relaxed is for calls that a capture of somebody else's may forbid.
	relaxed entry = true
	// asItIs is for those that only put work into a stream of the driver's own, which
	// no capture forbids: the mode of the thread stays.
	asItIs entry = false
)

func (o *openDevice) enter(op string, how entry, body func() error) error {
	if err := o.outsideHostFunction(op); err != nil {
		return err
	}
	o.gate.RLock()
	defer o.gate.RUnlock()
	if err := o.usable(op); err != nil {
		return err
	}
	return o.inContext(op, how, body)
}

// current is within for those who give something back, also to a lost device.
func (o *openDevice) current(op string, body func() error) error {
	return o.inContext(op, relaxed, body)
}

// inContext makes the context current, unless it is already, and the mode for calls
// while a stream captures relaxed: so a capture that somebody else has begun forbids
// nothing here and is not spoilt. Both belong to the thread, and are put back.
func (o *openDevice) inContext(op string, how entry, body func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := new(uintptr)
	// The deferred calls have only its address, which keeps nothing alive.
	defer runtime.KeepAlive(before)
	known := o.api.contextCurrent.Call(dl.Pointer(before)) == 0
	if !known || *before != o.context {
		if number := o.api.contextPush.Call(o.context); number != 0 {
			return o.failure(op, &o.api.contextPush, number, "")
		}
		defer o.api.contextPop.Call(dl.Pointer(before))
	}
	if how == relaxed {
		return o.api.relax(body)
	}
	return body()
}

// relax runs body in the mode for calls while a stream captures that is relaxed.
func (a *api) relax(body func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mode := new(int32)
	*mode = captureRelaxed
	defer runtime.KeepAlive(mode)
	if a.exchangeCapture.Found() && a.exchangeCapture.Call(dl.Pointer(mode)) == 0 {
		defer a.exchangeCapture.Call(dl.Pointer(mode))
	}
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
	if mayMeanGone(number) && o.lost.Load() == nil {
		if o.contextIsGone() {
			err.Code = device.CodeDeviceLost
			err.Message += o.contextGone()
		} else if isStale(number) {
			err.Message += "; the device's context is there: a stream, event or context of the call was destroyed before, or is none"
		}
	}
	if err.Code == device.CodeDeviceLost {
		o.lost.CompareAndSwap(nil, err)
	}
	return err
}

func (o *openDevice) contextGone() string {
	if o.callers {
		return "; the program destroyed the context that the device was opened on, and with it all that was in it"
	}
	return "; the program reset the device's primary context, and with it all that was in it"
}

// mayMeanGone says that a number is what is given for a context that is gone, or for
// what was in it.
func mayMeanGone(number int32) bool { return number == resultInvalidValue || isStale(number) }

// contextIsGone asks whether the context was destroyed, or reset and perhaps made again:
// then its handle is as before, its number is another one, and what was in it is not
// there. It changes nothing, and no capture is in its way.
func (o *openDevice) contextIsGone() bool {
	if o.contextNumber != 0 {
		var now uint64
		number := o.api.contextID.Call(o.context, dl.Pointer(&now))
		if number == 0 && now != o.contextNumber || isStale(number) {
			return true
		}
	}
	if !o.callers {
		var flags uint32
		var active int32
		if o.api.contextState.Call(uintptr(o.handle), dl.Pointer(&flags), dl.Pointer(&active)) == 0 && active == 0 {
			return true
		}
	}
	gone := false
	_ = o.api.relax(func() error {
		if number := o.api.contextPush.Call(o.context); number != 0 {
			gone = isStale(number)
			return nil
		}
		popped := new(uintptr)
		defer runtime.KeepAlive(popped)
		defer o.api.contextPop.Call(dl.Pointer(popped))
		// Where the number says nothing, a stream is asked after that nobody else ends.
		if s := o.scrub; s != nil {
			var of uintptr
			gone = isStale(o.api.streamContext.Call(s.handle, dl.Pointer(&of)))
		}
		return nil
	})
	return gone
}

// returned decides about an error of a call that gives something back: a lost device
// holds nothing, so that there it is given back.
func (o *openDevice) returned(err error) error {
	if err != nil && o.lost.Load() != nil {
		return nil
	}
	return err
}

// retainContext takes part in the primary context, and makes it if nobody has it, which
// a capture may forbid like all that takes memory.
func (o *openDevice) retainContext(op string) error {
	return o.api.relax(func() error {
		return o.call(op, "", &o.api.contextRetain, dl.Pointer(&o.context), uintptr(o.handle))
	})
}

func (o *openDevice) releaseContext() {
	_ = o.api.relax(func() error {
		o.api.contextRelease.Call(uintptr(o.handle))
		return nil
	})
}
