package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/ranges"
	"ferrum_mem/internal/dl"
)

var _ device.ProcessSharer = (*openDevice)(nil)

func (o *openDevice) startSharing(op string) error {
	if err := o.ctx.checkOpen(op); err != nil {
		return err
	}
	if !dl.HasStructs {
		return o.ctx.errorf(device.CodeUnsupported, op,
			"the driver takes handles of other processes by value, and how %s/%s passes such an argument is not known here",
			runtime.GOOS, runtime.GOARCH)
	}
	if !o.info.ProcessSharer {
		return o.ctx.errorf(device.CodeUnsupported, op, "the device or its driver has no handles for other processes")
	}
	return nil
}

// ShareMemory shares the whole segment, because the vendor driver has no handle for a part.
func (o *openDevice) ShareMemory(addr device.Addr, size uint64) (device.SharedMemory, error) {
	const op = "cuda.share_memory"
	var m device.SharedMemory
	if err := o.startSharing(op); err != nil {
		return m, err
	}
	if size == 0 {
		return m, o.ctx.errorf(device.CodeInvalidSize, op, "size 0: there is nothing to share")
	}
	s, whole := o.ranges.Holding(uint64(addr), size)
	if !whole || s.Kind != ranges.Segment {
		return m, o.ctx.errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: lies in no segment that was allocated here", uint64(addr), size)
	}
	handle := new(device.ProcessHandle)
	err := o.ctx.within(op, func() error {
		return o.ctx.call(op, fmt.Sprintf("address %#x", uint64(addr)), &o.ctx.api.ipcGetMemory, dl.Pointer(handle), uintptr(s.Base))
	})
	if err != nil {
		return m, err
	}
	return device.SharedMemory{Handle: *handle, OffsetBytes: uint64(addr) - s.Base, SizeBytes: size}, nil
}

// words splits a handle into the arguments of a call.
func words(handle device.ProcessHandle) []uintptr {
	all := make([]uintptr, 0, len(handle)/8)
	for at := 0; at < len(handle); at += 8 {
		all = append(all, uintptr(binary.NativeEndian.Uint64(handle[at:])))
	}
	return all
}

// openFailure returns the error of a call that opens a handle.
func (c *driverContext) openFailure(op string, f *dl.Function, number int32) error {
	if (number == resultInvalidContext || number == resultInvalidHandle) && !c.contextIsGone() {
		code, why := device.CodeInvalidState, "the handle was created by this process"
		if number == resultInvalidHandle {
			code, why = device.CodeInvalidArgument, "the handle is not valid, or another context of this process has its memory open"
		}
		return device.Errorf(code, op, "%s: %s gave %s", why, f.Name, c.api.describe(number)).On(c.id).WithNative(int64(number))
	}
	err := c.failure(op, f, number, "a handle of another process")
	if c.lost.Load() == nil && (number == resultInvalidValue || number == resultMapFailed) {
		err.(*device.Error).Code = device.CodeInvalidArgument
	}
	return err
}

// OpenShared opens the whole memory and returns the requested range of it.
func (o *openDevice) OpenShared(m device.SharedMemory) (device.Addr, error) {
	const op = "cuda.open_shared"
	if err := o.startSharing(op); err != nil {
		return 0, err
	}
	if m.SizeBytes == 0 {
		return 0, o.ctx.errorf(device.CodeInvalidSize, op, "size 0: there is nothing to open")
	}
	if m.SizeBytes > math.MaxUint64-m.OffsetBytes {
		return 0, o.ctx.errorf(device.CodeOverflow, op, "offset %d, size %d: the end does not fit 64 bits", m.OffsetBytes, m.SizeBytes)
	}
	if err := o.hold(op, 1); err != nil {
		return 0, err
	}
	var addr uint64
	err := o.ctx.within(op, func() (err error) {
		addr, err = o.openShared(op, m)
		return err
	})
	if err != nil {
		o.drop(1)
		return 0, err
	}
	return device.Addr(addr), nil
}

func (o *openDevice) openShared(op string, m device.SharedMemory) (uint64, error) {
	var base, start, whole uint64
	number := dl.CallWithStruct(&o.ctx.api.ipcOpenMemory, []uintptr{dl.Pointer(&base)}, words(m.Handle), []uintptr{ipcLazyPeer})
	if number != 0 {
		return 0, o.ctx.openFailure(op, &o.ctx.api.ipcOpenMemory, number)
	}
	err := o.ctx.call(op, "", &o.ctx.api.pointerAttribute, dl.Pointer(&start), pointerRangeStart, uintptr(base))
	if err == nil {
		err = o.ctx.call(op, "", &o.ctx.api.pointerAttribute, dl.Pointer(&whole), pointerRangeSize, uintptr(base))
	}
	if err == nil && (m.OffsetBytes > whole-(base-start) || m.SizeBytes > whole-(base-start)-m.OffsetBytes) {
		err = o.ctx.errorf(device.CodeInvalidSize, op, "offset %d, size %d: the memory of the handle has %v",
			m.OffsetBytes, m.SizeBytes, device.Size(whole-(base-start)))
	}
	if err == nil {
		err = o.insertOther(op, span{Base: base + m.OffsetBytes, Size: m.SizeBytes, Kind: ranges.Shared, Opened: base}, device.Alone)
	}
	if err != nil {
		o.ctx.undo(op, "", &o.ctx.api.ipcCloseMemory, uintptr(base))
	}
	return base + m.OffsetBytes, err
}

// CloseShared closes the memory. It stays open in this process while other ranges of it are
// open.
func (o *openDevice) CloseShared(addr device.Addr, size uint64) error {
	return o.free("cuda.close_shared", ranges.Shared, uint64(addr), size, &o.ctx.api.ipcCloseMemory)
}

// ShareEvent records an event that other processes can open.
func (o *openDevice) ShareEvent(on device.Stream) (device.Event, device.ProcessHandle, error) {
	const op = "cuda.share_event"
	handle := new(device.ProcessHandle)
	if err := o.startSharing(op); err != nil {
		return nil, *handle, err
	}
	s, ok := on.(*stream)
	if !ok || s == nil || s.owner != o {
		return nil, *handle, o.ctx.errorf(device.CodeInvalidArgument, op, "stream: of type %T, which is not this device's", on)
	}
	e := &event{owner: o, shared: true}
	err := s.use(op, func() error {
		if err := s.uncaptured(op); err != nil {
			return err
		}
		err := o.ctx.call(op, "", &o.ctx.api.eventCreate, dl.Pointer(&e.handle), eventBlockingSync|eventDisableTiming|eventInterprocess)
		if err != nil {
			return err
		}
		if err = o.ctx.call(op, "", &o.ctx.api.ipcGetEvent, dl.Pointer(handle), e.handle); err == nil {
			e.capture, err = s.recordEnd(op, e.handle)
		}
		if err == nil && e.Captured() {
			// Another process would wait for this event for ever.
			err = s.capturingError(op)
		}
		if err != nil {
			o.ctx.undo(op, "", &o.ctx.api.eventDestroy, e.handle)
			return err
		}
		o.events.enter(e)
		return nil
	})
	if err != nil {
		return nil, device.ProcessHandle{}, err
	}
	return e, *handle, nil
}

// OpenSharedEvent opens an event that another process has recorded.
func (o *openDevice) OpenSharedEvent(handle device.ProcessHandle) (device.Event, error) {
	const op = "cuda.open_shared_event"
	if err := o.startSharing(op); err != nil {
		return nil, err
	}
	e := &event{owner: o, shared: true}
	err := o.ctx.within(op, func() error {
		number := dl.CallWithStruct(&o.ctx.api.ipcOpenEvent, []uintptr{dl.Pointer(&e.handle)}, words(handle), nil)
		if number != 0 {
			return o.ctx.openFailure(op, &o.ctx.api.ipcOpenEvent, number)
		}
		o.events.enter(e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}
