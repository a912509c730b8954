package host

import "ferrum_mem/core/device"

// CanCopyFrom returns true for every open host device, including this one.
func (o *openDevice) CanCopyFrom(src device.Device) bool {
	from, ok := src.(*openDevice)
	if !ok || from == nil {
		return false
	}
	return from.gate.Check("host.can_copy_from") == nil
}

// CopyFromPeer queues one copy from the other device's memory to the memory of this one.
func (o *openDevice) CopyFromPeer(
	queue device.Stream, dst device.Addr, src device.Device, srcAddr device.Addr, size uint64,
) error {
	const op = "host.copy_from_peer"
	s, err := o.Of(op, queue)
	if err != nil {
		return err
	}
	from, ok := src.(*openDevice)
	if !ok || from == nil {
		return o.errorf(device.CodeUnsupported, op, "source device: of type %T, which is another backend's", src)
	}
	return s.CopyFrom(op, dst, from, srcAddr, size)
}
