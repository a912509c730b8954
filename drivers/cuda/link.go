package cuda

import (
	"maps"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/ranges"
	"ferrum_mem/internal/dl"
)

var (
	_ device.Linker      = (*openDevice)(nil)
	_ device.PeerGranter = (*openDevice)(nil)
)

// reaches states whether the vendor driver allows this device to access another device's
// memory.
func (o *openDevice) reaches(other *openDevice) bool {
	if other.ctx.cuDevice == o.ctx.cuDevice {
		return true
	}
	var can int32
	return o.info.Peer && o.ctx.api.canAccessPeer.Call(dl.Pointer(&can), uintptr(o.ctx.cuDevice), uintptr(other.ctx.cuDevice)) == 0 && can != 0
}

// another returns an open device of this driver other than this one.
func (o *openDevice) another(op, what string, dev device.Device) (*openDevice, error) {
	other, ok := dev.(*openDevice)
	if !ok || other == nil || other.driver.api != o.ctx.api {
		return nil, o.ctx.errorf(device.CodeUnsupported, op, "%s: of type %T, which is another backend's", what, dev)
	}
	if other == o {
		return nil, o.ctx.errorf(device.CodeInvalidArgument, op, "%s: is this device itself", what)
	}
	return other, other.ctx.checkOpen(op)
}

// GrantPeer allows the context of the other device to access the memory of this one,
// including stream-ordered and virtual memory. The access remains while both devices are
// open, because other code in the process may rely on it. If the last step fails, the first
// steps stay done, and the same call completes the rest.
func (o *openDevice) GrantPeer(peer device.Device) error {
	const op = "cuda.grant_peer"
	if err := o.ctx.checkOpen(op); err != nil {
		return err
	}
	other, err := o.another(op, "peer", peer)
	if err != nil {
		return err
	}
	if err := other.enable(op, o); err != nil {
		return err
	}
	if o.info.StreamOrdered {
		if err := o.orderedPool.allowAccess(op, other.ctx.cuDevice); err != nil {
			return err
		}
	}
	if !o.info.VirtualMemory {
		return nil
	}
	return o.virtual.allowAccess(op, other.ctx.cuDevice)
}

// enable allows this device's context to access what was allocated in the other context.
func (o *openDevice) enable(op string, other *openDevice) error {
	if other.ctx.context == o.ctx.context {
		return nil
	}
	if !o.ctx.api.enablePeer.Found() || other.ctx.cuDevice == o.ctx.cuDevice {
		return o.ctx.errorf(device.CodeUnsupported, op, "the contexts of device %v cannot be opened to each other", other.info.ID)
	}
	if err := o.mustReach(op, other); err != nil {
		return err
	}
	o.mu.Lock()
	_, done := o.peers[other]
	o.mu.Unlock()
	if done {
		return nil
	}
	err := o.ctx.within(op, func() error {
		number := o.ctx.api.enablePeer.Call(other.ctx.context, 0)
		if number != 0 && number != resultPeerEnabled {
			return o.failureWith(other, op, &o.ctx.api.enablePeer, number, "device "+other.info.ID.String())
		}
		return nil
	})
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.peers, func(peer *openDevice, _ struct{}) bool { return peer.ctx.closed.Load() })
	o.peers[other] = struct{}{}
	return nil
}

// Link makes memory of another device usable by work of this one. Page-locked memory is
// used by its address on this device. Plain memory needs access between the contexts. For
// stream-ordered memory and mapped pages, Link enables access to all memory of that kind.
func (o *openDevice) Link(from device.Device, addr device.Addr, size uint64) (device.Addr, error) {
	const op = "cuda.link"
	if err := o.ctx.checkOpen(op); err != nil {
		return 0, err
	}
	other, err := o.another(op, "device", from)
	if err != nil {
		return 0, err
	}
	if err := other.check(op, "memory", addr, size, device.AccessReadWrite); err != nil {
		return 0, err
	}
	if err := o.hold(op, 1); err != nil {
		return 0, err
	}
	at, err := o.reach(op, other, uint64(addr), size)
	if err == nil {
		err = o.insertOther(op, span{Base: at, Size: size, Kind: ranges.Linked, Owner: other}, device.Alone)
	}
	if err != nil {
		o.drop(1)
		return 0, err
	}
	return device.Addr(at), nil
}

// reach returns the address at which this device accesses a range of the other's memory.
// Page-locked and managed memory needs no access between the devices.
func (o *openDevice) reach(op string, other *openDevice, addr, size uint64) (uint64, error) {
	s, whole := other.ranges.Holding(addr, size)
	if !whole {
		return addr, o.reachVirtual(op, other)
	}
	if s.ReadOnly {
		return 0, o.ctx.errorf(device.CodePermissionDenied, op, "memory %#x, size %d: device %v adopted it as read-only", addr, size, other.info.ID)
	}
	if s.Kind == ranges.Foreign {
		// The vendor driver knows the owner and the kind of this memory.
		if o.mayManage(addr) {
			return addr, nil
		}
		var kind uint32
		if o.ctx.api.pointerAttribute.Call(dl.Pointer(&kind), pointerMemoryType, uintptr(addr)) == 0 && kind == memoryTypeHost {
			s.Kind, s.Host = ranges.Locked, s.Base
		}
	}
	switch s.Kind {
	case ranges.Linked, ranges.Shared:
		return 0, o.ctx.errorf(device.CodeUnsupported, op,
			"memory %#x, size %d: device %v itself uses it from another device or process", addr, size, other.info.ID)
	case ranges.Pinned, ranges.Registered, ranges.Locked:
		var base uint64
		err := o.ctx.within(op, func() error {
			return o.ctx.call(op, "page-locked memory", &o.ctx.api.hostPointer, dl.Pointer(&base), uintptr(s.Host), 0)
		})
		return base + (addr - s.Base), err
	case ranges.Managed:
		return addr, o.needManaged(op)
	case ranges.Ordered:
		if err := o.mustReach(op, other); err != nil {
			return 0, err
		}
		return addr, other.orderedPool.allowAccess(op, o.ctx.cuDevice)
	}
	return addr, o.enable(op, other)
}

// reachVirtual gives this device access to the other's mapped pages.
func (o *openDevice) reachVirtual(op string, other *openDevice) error {
	if err := o.mustReach(op, other); err != nil {
		return err
	}
	return other.virtual.allowAccess(op, o.ctx.cuDevice)
}

func (o *openDevice) mustReach(op string, other *openDevice) error {
	if o.reaches(other) {
		return nil
	}
	return o.ctx.errorf(device.CodeUnsupported, op, "the device does not reach memory of device %v", other.info.ID)
}

// Unlink removes what Link added. It does not call the vendor driver.
func (o *openDevice) Unlink(addr device.Addr, size uint64) error {
	const op = "cuda.unlink"
	if err := o.ctx.checkOpen(op); err != nil {
		return err
	}
	if _, found := o.ranges.Remove(ranges.Linked, uint64(addr), size); !found {
		return o.ctx.errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: no linked memory has this address and size", uint64(addr), size)
	}
	o.drop(1)
	return nil
}
