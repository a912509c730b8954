package cuda

import (
	"errors"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/hostpages"
	"ferrum_mem/internal/dl"
)

// A step that fails is undone, and the vendor driver can reject the call that undoes it, too.
// Then this call is owed: it is repeated before the next call of the device, and before the
// device closes. Owed calls keep their order, because one can depend on the one before:
// addresses are unmapped only after the work there has ended.
//
// An owed call can have pages of the process that are unmapped after it. They are also unmapped if the
// device is lost before.
//
// Some owed calls must come first. While one of them is owed, every call of the device fails
// with the error of the owed call, and changes nothing. A lost device owes nothing.

// owedCall is a call of the vendor driver. Its arguments are no pointers to Go memory.
type owedCall struct {
	what string
	// f is nil after the call has succeeded, or if only pages are owed.
	f         *dl.Function
	arguments []uintptr
	pages     hostpages.Pages
	// first states that no other call of the device may begin before it.
	first bool
}

type owedCalls struct {
	mu    sync.Mutex
	calls []owedCall
	count atomic.Int32
}

// undo releases an object that no caller knows, so that no caller could repeat a failed
// release. The caller has the context current.
func (c *driverContext) undo(op, what string, f *dl.Function, arguments ...uintptr) {
	c.tryNow(op, owedCall{what: what, f: f, arguments: arguments})
}

// finishFirst makes a call that must succeed before another call of the device begins. It
// waits for work that still writes to memory, or removes a mapping that another call would
// find. The caller has the context current.
func (c *driverContext) finishFirst(op, what string, f *dl.Function, arguments ...uintptr) {
	c.tryNow(op, owedCall{what: what, f: f, arguments: arguments, first: true})
}

func (c *driverContext) tryNow(op string, call owedCall) {
	if c.owed.count.Load() == 0 && call.done() {
		return
	}
	c.owed.add(call)
	_ = c.pay(op)
}

// done makes the call, and unmaps its pages.
func (call *owedCall) done() bool {
	if call.f != nil && call.f.Call(call.arguments...) != 0 {
		return false
	}
	call.f = nil
	return call.pages.Unmap() == nil
}

// unmap unmaps pages that nothing uses. It needs no context.
func (c *driverContext) unmap(pages hostpages.Pages) {
	if pages.Unmap() != nil {
		c.owed.add(owedCall{pages: pages})
	}
}

// owe adds a call that was not tried yet. It needs no context.
func (c *driverContext) owe(what string, f *dl.Function, arguments ...uintptr) {
	c.owed.add(owedCall{what: what, f: f, arguments: arguments})
}

func (o *owedCalls) add(call owedCall) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, call)
	o.count.Store(int32(len(o.calls)))
}

// pay makes the owed calls, up to the first one that the vendor driver still rejects. The
// caller has the context current.
func (c *driverContext) pay(op string) error {
	o := &c.owed
	o.mu.Lock()
	defer o.mu.Unlock()
	return c.api.relax(func() error {
		for len(o.calls) > 0 {
			if err := c.payOne(op, &o.calls[0]); err != nil {
				return err
			}
			o.calls = o.calls[1:]
			o.count.Store(int32(len(o.calls)))
		}
		return nil
	})
}

// payOne tries a call twice. The caller holds owed.mu.
func (c *driverContext) payOne(op string, call *owedCall) error {
	if call.done() {
		return nil
	}
	if call.f != nil {
		err := c.call(op, "undoing an earlier call that failed: "+call.what, call.f, call.arguments...)
		var why *device.Error
		// A lost device, and one without the object, has nothing left that the call could undo.
		if err != nil && c.lost.Load() == nil && !(errors.As(err, &why) && isStale(int32(why.Native))) {
			return err
		}
		call.f = nil
	}
	if err := call.pages.Unmap(); err != nil {
		return c.errorf(device.CodeDevice, op, "%v of page-locked memory are not unmapped: %w", device.Size(call.pages.Size), err)
	}
	return nil
}

// payFirst is called before another call begins. It returns an error if this call must not
// begin yet.
func (c *driverContext) payFirst(op string) error {
	if c.owed.count.Load() == 0 {
		return nil
	}
	err := c.pay(op)
	if err != nil && c.owed.mustWait() {
		return err
	}
	return nil
}

// mustWait states that a call is owed that must come first.
func (o *owedCalls) mustWait() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, call := range o.calls {
		if call.first {
			return true
		}
	}
	return false
}

// payAll is called before the device closes.
func (c *driverContext) payAll(op string) error {
	if c.owed.count.Load() == 0 {
		return nil
	}
	err := c.current(op, func() error { return c.pay(op) })
	if c.lost.Load() != nil {
		// A lost context that cannot be made current has ended with its objects. Without it
		// the calls would act on the caller's context, or on none.
		c.owed.forget()
		return nil
	}
	return err
}

// forget drops the owed calls, and unmaps their pages.
func (o *owedCalls) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, call := range o.calls {
		_ = call.pages.Unmap()
	}
	o.calls = nil
	o.count.Store(0)
}

// payAtEnd is called when the device has ended and cannot be called again. It tries more
// often. What the vendor driver rejects even then stays until the process ends.
func (c *driverContext) payAtEnd(op string) {
	for range lastTries {
		if c.payAll(op) == nil {
			return
		}
	}
}

const lastTries = 16
