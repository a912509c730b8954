package host

import (
	"os"

	"ferrum_mem/core/device"
)

// Prefetch has the system put memory behind a range, in the stream's order. All host
// devices have their memory in the same place.
func (o *openDevice) Prefetch(queue device.Stream, addr device.Addr, size uint64, to device.Device) error {
	const op = "host.prefetch"
	s, ok := queue.(*stream)
	if !ok || s == nil || s.owner != o {
		return o.errorf(device.CodeInvalidArgument, op, "stream: not a stream of this device")
	}
	if _, ok := to.(*openDevice); !ok {
		return o.errorf(device.CodeUnsupported, op, "target device: of type %T, which is another backend's", to)
	}
	if err := s.check(op); err != nil {
		return err
	}
	used, err := o.acquire(op, "memory", addr, size, device.AccessRead)
	if err != nil {
		return err
	}
	return s.push(op, operation{kind: kindPrefetch, dst: uint64(addr), size: size, dstHeld: used})
}

// prefetch runs on the worker.
func (o *openDevice) prefetch(address, size uint64) {
	page := uint64(os.Getpagesize())
	start := address - address%page
	end := address + size
	if rest := end % page; rest != 0 {
		end += page - rest
	}
	o.driver.mapper.Populate(start, end-start)
}
