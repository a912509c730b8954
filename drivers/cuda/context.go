package cuda

import (
	"runtime"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// driverContext is a CUDA context in which this driver makes the calls of one device, with
// the state that shows whether the context still exists.
type driverContext struct {
	api *api
	// cuDevice is the vendor driver's number of the device. id is the number of this
	// library.
	cuDevice int32
	id       device.ID
	// context is the retained primary context, or a context of the program if callers is
	// true. contextNumber is the vendor driver's id of the context. It differs from the id
	// of a context that replaces this one after a reset. It is 0 if the vendor driver gives
	// contexts no ids.
	callers       bool
	context       uintptr
	contextNumber uint64
	// probe is a stream in the context that only this driver can destroy. 0: none was
	// created yet.
	probe uintptr
	// lost is the first error from which the device does not recover.
	lost atomic.Pointer[device.Error]
	// gate is held for reading by every call of the vendor driver. Close holds it for
	// writing for a moment, so that it waits for the calls that run.
	gate   sync.RWMutex
	closed atomic.Bool
	// owed lists calls that undo other calls and that the vendor driver has rejected.
	owed owedCalls
}

// within runs body with the device's context current on this thread, and then restores the
// previous context of the thread. It fails if the device is closed or lost.
func (c *driverContext) within(op string, body func() error) error {
	return c.enter(op, relaxed, body)
}

// entry states what a call changes on its thread besides the context.
type entry bool

const (
	// relaxed is for calls that a capture of another library may forbid.
	relaxed entry = true
	// asItIs keeps the capture mode of the thread. It is for calls that only queue work in
	// a stream of this driver, which no capture forbids.
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
	return c.inContext(op, how, func() error {
		if err := c.payFirst(op); err != nil {
			return err
		}
		return body()
	})
}

// current is like within, for calls that release something. It also runs on a lost device.
func (c *driverContext) current(op string, body func() error) error {
	return c.inContext(op, relaxed, body)
}

// inContext makes the context current, unless it already is. With relaxed it also sets the
// thread's capture mode to relaxed, so that a capture of another library neither forbids
// the calls of body nor is invalidated by them. Both belong to the thread and are restored
// at the end.
func (c *driverContext) inContext(op string, how entry, body func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := new(uintptr)
	// The deferred calls hold only the address of before, which does not keep it alive.
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

// relax runs body while the thread's capture mode is relaxed.
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

// usable returns an error if the device is closed or lost.
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

// outsideHostFunction returns an error if the caller is a host function of a stream,
// because CUDA does not allow calls of the vendor driver there.
func (c *driverContext) outsideHostFunction(op string) error {
	if hostCalls.Inside() {
		return c.errorf(device.CodeInvalidState, op, "called from a host function, in which CUDA cannot be called")
	}
	return nil
}

// call calls a function of the vendor driver in the current context. what names the
// arguments and their values for the error message.
func (c *driverContext) call(op, what string, f *dl.Function, arguments ...uintptr) error {
	if number := f.Call(arguments...); number != 0 {
		return c.failure(op, f, number, what)
	}
	return nil
}

// failure returns the error of a failed call. It marks the device as lost if the error
// means that.
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
			err.Message += "; the device's context exists: a stream, event or context of the call was destroyed before or never existed"
		}
	}
	if err.Code == device.CodeDeviceLost {
		c.lost.CompareAndSwap(nil, err)
	}
	return err
}

func (c *driverContext) contextGone() string {
	if c.callers {
		return "; the program destroyed the context that the device was opened on, and with it all its memory, streams and events"
	}
	return "; the program reset the device's primary context, and with it all its memory, streams and events"
}

// mayMeanGone states whether the vendor driver may return this number because a context, or
// an object in it, was destroyed. Memory is not registered any more when its context has ended.
func mayMeanGone(number int32) bool {
	return number == resultInvalidValue || number == resultNotRegistered || isStale(number)
}

// contextIsGone queries whether the context was destroyed or reset. A primary context that
// was reset and created again has the same handle but a new id, and the objects of the old
// one do not exist. The query changes nothing, and a capture does not disturb it.
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
		// If the id does not decide it, query a stream that only this driver can destroy.
		if c.probe != 0 {
			var of uintptr
			gone = isStale(c.api.streamContext.Call(c.probe, dl.Pointer(&of)))
		}
		return nil
	})
	return gone
}

// returned filters the error of a call that releases something. It returns nil for a lost
// device, because nothing is left to release there.
func (c *driverContext) returned(err error) error {
	if err != nil && c.lost.Load() != nil {
		return nil
	}
	return err
}

// retainContext retains the primary context and creates it if it does not exist. A capture
// may forbid that, like every call that allocates memory.
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
