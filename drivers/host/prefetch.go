package host

import (
	"os"

	"ferrum_mem/core/device"
)

// Prefetch lets the system allocate the memory of a range, in the stream's order. All host
// devices have the same memory location.
func (o *openDevice) Prefetch(queue device.Stream, addr device.Addr, size uint64, to device.Device) error {
	const op = "host.prefetch"
	s, err := o.Of(op, queue)
	if err != nil {
		return err
	}
	if _, ok := to.(*openDevice); !ok {
		return o.errorf(device.CodeUnsupported, op, "target device: of type %T, which is another backend's", to)
	}
	return s.Prefetch(op, addr, size)
}

// Populate allocates the memory of a range. It runs on a worker.
func (o *openDevice) Populate(address, size uint64) {
	page := uint64(os.Getpagesize())
	start := address - address%page
	end := address + size
	if rest := end % page; rest != 0 {
		end += page - rest
	}
	o.driver.mapper.Populate(start, end-start)
}
