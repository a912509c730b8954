package cuda

import (
	"errors"
	"fmt"
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/ranges"
	"ferrum_mem/internal/dl"
)

var (
	_ device.Adopter       = (*openDevice)(nil)
	_ device.StreamAdopter = (*openDevice)(nil)
	_ device.EventAdopter  = (*openDevice)(nil)
	_ device.SharedQueue   = (*stream)(nil)
)

// The values of CU_STREAM_LEGACY and CU_STREAM_PER_THREAD.
const (
	streamLegacy    = 1
	streamPerThread = 2
)

// Adopt queries the vendor driver for the owner of the memory. It accepts a range that lies
// in one allocation of this device, or in one page-locked or managed allocation of the
// process.
func (o *openDevice) Adopt(addr device.Addr, size uint64, access device.Access, how device.Sharing) error {
	const op = "cuda.adopt"
	if err := o.ctx.checkOpen(op); err != nil {
		return err
	}
	if size == 0 {
		return o.ctx.errorf(device.CodeInvalidSize, op, "size 0: there is nothing to adopt")
	}
	if size > math.MaxUint64-uint64(addr) {
		return o.ctx.errorf(device.CodeOverflow, op, "address %#x, size %d: the end does not fit 64 bits", uint64(addr), size)
	}
	readOnly, err := o.ctx.readOnly(op, access)
	if err != nil {
		return err
	}
	if err := o.hold(op, 1); err != nil {
		return err
	}
	err = o.ctx.within(op, func() error { return o.checkForeign(op, uint64(addr), size) })
	if err == nil {
		err = o.insertOther(op, span{Base: uint64(addr), Size: size, Kind: ranges.Foreign, ReadOnly: readOnly}, how)
	}
	if err != nil {
		o.drop(1)
	}
	return err
}

// readOnly states whether an access of Adopt or Register is for reading only.
func (c *driverContext) readOnly(op string, access device.Access) (bool, error) {
	if access != device.AccessRead && access != device.AccessReadWrite {
		return false, c.errorf(device.CodeInvalidArgument, op, "access %d: want %d or %d", access, device.AccessRead, device.AccessReadWrite)
	}
	return access == device.AccessRead, nil
}

// checkForeign checks a range against what the vendor driver reports for its start address.
func (o *openDevice) checkForeign(op string, addr, size uint64) error {
	var base, whole uint64
	var kind uint32
	var ordinal int32
	for _, one := range []struct {
		out       uintptr
		attribute uintptr
	}{
		{dl.Pointer(&kind), pointerMemoryType}, {dl.Pointer(&ordinal), pointerOrdinal},
		{dl.Pointer(&base), pointerRangeStart}, {dl.Pointer(&whole), pointerRangeSize},
	} {
		number := o.ctx.api.pointerAttribute.Call(one.out, one.attribute, uintptr(addr))
		if number == resultInvalidValue {
			return o.ctx.errorf(device.CodeInvalidAddress, op,
				"address %#x, size %d: the driver knows no memory there", addr, size)
		}
		if number != 0 {
			return o.ctx.failure(op, &o.ctx.api.pointerAttribute, number, fmt.Sprintf("address %#x", addr))
		}
	}
	if kind == memoryTypeDevice && ordinal != o.ctx.cuDevice && !o.mayManage(addr) {
		return o.ctx.errorf(device.CodeInvalidAddress, op, "address %#x, size %d: is memory of the CUDA device %d", addr, size, ordinal)
	}
	if addr < base || addr-base >= whole || size > whole-(addr-base) {
		return o.ctx.errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: the memory there is %v from %#x on", addr, size, device.Size(whole), base)
	}
	return nil
}

// mayManage states whether an address lies in managed memory that this device may use. The
// memory may have been allocated for another device.
func (o *openDevice) mayManage(addr uint64) bool {
	var managed uint32
	return o.info.Managed && o.ctx.api.pointerAttribute.Call(dl.Pointer(&managed), pointerManaged, uintptr(addr)) == 0 && managed != 0
}

// insertOther adds memory that this device did not allocate to the list of ranges.
func (o *openDevice) insertOther(op string, s span, how device.Sharing) error {
	insert := o.ranges.InsertApart
	if how == device.Shared {
		insert = o.ranges.Share
	}
	if o.virtual.book.Overlaps(s.Base, s.Size) || !insert(s) {
		return o.ctx.errorf(device.CodeAlreadyExists, op,
			"address %#x, size %d: is memory of this device, or overlaps memory that it has adopted", s.Base, s.Size)
	}
	return nil
}

// Disown removes what Adopt added. It does not call the vendor driver.
func (o *openDevice) Disown(addr device.Addr, size uint64, how device.Sharing) error {
	const op = "cuda.disown"
	if err := o.ctx.checkOpen(op); err != nil {
		return err
	}
	found := false
	if how == device.Shared {
		found = o.ranges.Unshare(uint64(addr), size)
	} else {
		_, found = o.ranges.Remove(ranges.Foreign, uint64(addr), size)
	}
	if !found {
		return o.ctx.errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: no adopted memory has this address and size", uint64(addr), size)
	}
	o.drop(1)
	return nil
}

// AdoptStream adopts a CUstream of the device's context, or 1 for the legacy default
// stream. It rejects 2, CUDA's name for the default stream of the calling thread: a Stream
// is the same queue on every thread, and memory that was freed on it may be allocated on it
// again at once. For a number that is no stream the vendor driver may end the process.
func (o *openDevice) AdoptStream(foreign device.ForeignStream) (device.Stream, error) {
	const op = "cuda.adopt_stream"
	if foreign.Native == 0 {
		if foreign.Enqueue != nil {
			return nil, o.ctx.errorf(device.CodeUnsupported, op, "enqueue: streams of CUDA are named by their handle")
		}
		return nil, o.ctx.errorf(device.CodeInvalidArgument, op, "native handle 0: want a CUstream, or 1 for the legacy default stream")
	}
	if foreign.Native == streamPerThread {
		return nil, o.ctx.errorf(device.CodeUnsupported, op,
			"native handle 2: is the per-thread default stream, which is another queue in each thread; a stream must be the same queue in all threads: "+
				"adopt a created stream, or 1, the legacy default stream, which waits for the work of all threads")
	}
	s := &stream{owner: o, handle: uintptr(foreign.Native), foreign: true}
	err := o.ctx.within(op, func() error {
		context, err := o.ctx.contextOfStream(op, s.handle)
		if err != nil {
			return err
		}
		if context != o.ctx.context {
			return o.ctx.errorf(device.CodeInvalidArgument, op,
				"native handle %#x: is a stream of another context than the one that the device was opened on", foreign.Native)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.mayNowCapture()
	o.mu.Lock()
	o.streams[s] = struct{}{}
	o.mu.Unlock()
	return s, nil
}

// TakesForeignWork states whether the stream is the legacy default stream. A record there
// comes after the work of all streams that are not non-blocking, including the default
// streams of threads. A query of the legacy stream does not report that work.
func (s *stream) TakesForeignWork() bool { return s.handle == streamLegacy }

// contextOfStream queries the context of a stream. It returns the primary context for a
// stream of a green context; only the newer form of the call knows green contexts.
func (c *driverContext) contextOfStream(op string, handle uintptr) (context uintptr, err error) {
	what := fmt.Sprintf("native handle %#x", handle)
	if c.api.streamContext2.Found() {
		var green uintptr
		err = c.call(op, what, &c.api.streamContext2, handle, dl.Pointer(&context), dl.Pointer(&green))
	} else {
		err = c.call(op, what, &c.api.streamContext, handle, dl.Pointer(&context))
	}
	return context, err
}

// AdoptEvent adopts a CUevent of any device. It does not query the event, because the event
// may have been recorded in a capture, which a query would invalidate. For a number that is
// no event the vendor driver may end the process when the event is used.
func (o *openDevice) AdoptEvent(native uint64) (device.Event, error) {
	const op = "cuda.adopt_event"
	if native == 0 {
		return nil, o.ctx.errorf(device.CodeInvalidArgument, op, "native handle 0: want a CUevent")
	}
	e := &event{owner: o, handle: uintptr(native), foreign: true}
	err := o.ctx.within(op, func() error {
		o.events.enter(e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// settle waits for the work that is queued in an external stream now, but not for work that
// is queued later.
func (s *stream) settle(op string) error {
	o := s.owner
	end, err := o.events.take(op, false)
	if err != nil {
		return err
	}
	capture, err := s.recordEnd(op, end)
	if err == nil && capture.status != captureStatusNone {
		err = s.capturingError(op)
	}
	if err == nil {
		err = o.ctx.call(op, "", &o.ctx.api.eventSynchronize, end)
	}
	if o.events.spare.Put(end, false) {
		return err
	}
	o.ctx.undo(op, "", &o.ctx.api.eventDestroy, end)
	return err
}

// settleGone handles failed, the error of a wait for a stream. If an external stream was
// destroyed, its queued work still runs, and only a wait for the whole context waits for
// that work. settleGone makes that wait. It returns an error while a stream of the context
// captures. It returns any other error unchanged.
func (s *stream) settleGone(op string, failed error) error {
	var why *device.Error
	if !s.foreign || !errors.As(failed, &why) || !isStale(int32(why.Native)) || s.owner.ctx.lost.Load() != nil {
		return failed
	}
	if other := s.owner.driver.capturing(); other != nil {
		return s.owner.ctx.errorf(device.CodeInvalidState, op,
			"the stream was destroyed before, and its work can be waited for only after the capture of the stream %#x has ended: %w",
			other.handle, failed)
	}
	err := s.owner.ctx.call(op, "the stream was destroyed before", &s.owner.ctx.api.contextSynchronize)
	s.drained.Store(err == nil)
	return err
}
