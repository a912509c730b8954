package cuda

import (
	"runtime"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

// driverContext is a context of the driver's, in which calls are made on one device, and what
// is known of whether it is still there.
type driverContext struct {
	api *api
	// cuDevice is the driver's number of the device, and id ours.
	cuDevice int32
	id       device.ID
	// context is the retained primary context, or callers says that it is one of the
	// program's; contextNumber tells it from one that takes its place after a reset, 0
	// where the driver does not number them.
	callers       bool
	context       uintptr
	contextNumber uint64
	// probe is a stream in it that nobody else ends; 0: there is none yet.
	probe uintptr
	// lost is the first error that the device does not recover from.
	lost atomic.Pointer[device.Error]
	// gate is held for reading by every call of the driver. Close has it for writing for
	// a moment.
	gate   sync.RWMutex
	closed atomic.Bool
}

// within runs body with the device's context current on this thread, and leaves the
// thread with what was current before. A lost device does not get that far.
func (c *driverContext) within(op string, body func() error) error {
	return c.enter(op, relaxed, body)
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

func (c *driverContext) enter(op string, how entry, body func() error) error {
	if err := c.outsideHostFunction(op); err != nil {
		return err
	}
	c.gate.RLock()
	defer c.gate.RUnlock()
	if err := c.usable(op); err != nil {
		return err
	}
	return c.inContext(op, how, body)
}

// current is within for those who give something back, also to a lost device.
func (c *driverContext) current(op string, body func() error) error {
	return c.inContext(op, relaxed, body)
}

// inContext makes the context current, unless it is already, and the mode for calls
// while a stream captures relaxed: so a capture that somebody else has begun forbids
// nothing here and is not spoilt. Both belong to the thread, and are put back.
func (c *driverContext) inContext(op string, how entry, body func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := new(uintptr)
	// The deferred calls have only its address, which keeps nothing alive.
	defer runtime.KeepAlive(before)
	known := c.api.contextCurrent.Call(dl.Pointer(before)) == 0
	if !known || *before != c.context {
		if number := c.api.contextPush.Call(c.context); number != 0 {
			return c.failure(op, &c.api.contextPush, number, "")
		}
		defer c.api.contextPop.Call(dl.Pointer(before))
	}
	if how == relaxed {
		return c.api.relax(body)
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
func (c *driverContext) usable(op string) error {
	if err := c.checkOpen(op); err != nil {
		return err
	}
	if lost := c.lost.Load(); lost != nil {
		return c.isLost(op, lost)
	}
	return nil
}

func (c *driverContext) isLost(op string, first *device.Error) error {
	return device.Errorf(device.CodeDeviceLost, op, "the device is lost since %s: %w", first.Op, first).
		On(c.id).WithNative(first.Native)
}

// outsideHostFunction refuses what the driver forbids to a function that a stream
// runs: to call it.
func (c *driverContext) outsideHostFunction(op string) error {
	if hostCalls.Inside() {
		return c.errorf(device.CodeInvalidState, op, "called from a host function, in which CUDA cannot be called")
	}
	return nil
}

// call calls a function of the library in the current context. what names the
// arguments and their values, for the message.
func (c *driverContext) call(op, what string, f *dl.Function, arguments ...uintptr) error {
	if number := f.Call(arguments...); number != 0 {
		return c.failure(op, f, number, what)
	}
	return nil
}

// takeBack gives back what no caller knows of, so that nobody else would try again: one
// refusal is not believed.
func (c *driverContext) takeBack(op, what string, f *dl.Function, arguments ...uintptr) error {
	if f.Call(arguments...) == 0 {
		return nil
	}
	return c.call(op, what, f, arguments...)
}

// failure is the error of a call, and marks the device as lost where it is.
func (c *driverContext) failure(op string, f *dl.Function, number int32, what string) error {
	err := c.api.refused(op, f, number)
	err.On(c.id)
	if what != "" {
		err.Message = what + ": " + err.Message
	}
	if mayMeanGone(number) && c.lost.Load() == nil {
		if c.contextIsGone() {
			err.Code = device.CodeDeviceLost
			err.Message += c.contextGone()
		} else if isStale(number) {
			err.Message += "; the device's context is there: a stream, event or context of the call was destroyed before, or is none"
		}
	}
	if err.Code == device.CodeDeviceLost {
		c.lost.CompareAndSwap(nil, err)
	}
	return err
}

func (c *driverContext) contextGone() string {
	if c.callers {
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
func (c *driverContext) contextIsGone() bool {
	if c.contextNumber != 0 {
		var now uint64
		number := c.api.contextID.Call(c.context, dl.Pointer(&now))
		if number == 0 && now != c.contextNumber || isStale(number) {
			return true
		}
	}
	if !c.callers {
		var flags uint32
		var active int32
		if c.api.contextState.Call(uintptr(c.cuDevice), dl.Pointer(&flags), dl.Pointer(&active)) == 0 && active == 0 {
			return true
		}
	}
	gone := false
	_ = c.api.relax(func() error {
		if number := c.api.contextPush.Call(c.context); number != 0 {
			gone = isStale(number)
			return nil
		}
		popped := new(uintptr)
		defer runtime.KeepAlive(popped)
		defer c.api.contextPop.Call(dl.Pointer(popped))
		// Where the number says nothing, a stream is asked after that nobody else ends.
		if c.probe != 0 {
			var of uintptr
			gone = isStale(c.api.streamContext.Call(c.probe, dl.Pointer(&of)))
		}
		return nil
	})
	return gone
}

// returned decides about an error of a call that gives something back: a lost device
// holds nothing, so that there it is given back.
func (c *driverContext) returned(err error) error {
	if err != nil && c.lost.Load() != nil {
		return nil
	}
	return err
}

// retainContext takes part in the primary context, and makes it if nobody has it, which
// a capture may forbid like all that takes memory.
func (c *driverContext) retainContext(op string) error {
	return c.api.relax(func() error {
		return c.call(op, "", &c.api.contextRetain, dl.Pointer(&c.context), uintptr(c.cuDevice))
	})
}

func (c *driverContext) releaseContext() {
	_ = c.api.relax(func() error {
		c.api.contextRelease.Call(uintptr(c.cuDevice))
		return nil
	})
}
