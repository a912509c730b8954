package host

import "ferrum_mem/core/device"

// CanCopyFrom is true for every open host device, this one included.
func (o *openDevice) CanCopyFrom(src device.Device) bool {
	from, ok := src.(*openDevice)
	if !ok || from == nil {
		return false
	}
	from.mu.Lock()
	defer from.mu.Unlock()
	return !from.closed
}

// CopyFromPeer queues one move from the other device's memory to this one's.
func (o *openDevice) CopyFromPeer(
	queue device.Stream, dst device.Addr, src device.Device, srcAddr device.Addr, size uint64,
) error {
	const op = "host.copy_from_peer"
	s, ok := queue.(*stream)
	if !ok || s == nil || s.owner != o {
		return o.errorf(device.CodeInvalidArgument, op, "stream: not a stream of this device")
	}
	from, ok := src.(*openDevice)
	if !ok || from == nil {
		return o.errorf(device.CodeUnsupported, op, "source device: of type %T, which is another backend's", src)
	}
	return s.copyWithin(op, dst, from, srcAddr, size)
}
