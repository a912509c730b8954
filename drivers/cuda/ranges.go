package cuda

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/ranges"
)

// span is a range of memory that a device may use.
type span = ranges.Span[*openDevice]

// check returns an error for a range that work may not use.
func (o *openDevice) check(op, what string, addr device.Addr, size uint64, need device.Access) error {
	if size == 0 {
		return o.ctx.errorf(device.CodeInvalidSize, op, "size 0: there is nothing to do")
	}
	if size > math.MaxUint64-uint64(addr) {
		return o.ctx.errorf(device.CodeOverflow, op, "%s %#x, size %d: the end does not fit 64 bits", what, uint64(addr), size)
	}
	s, known := o.ranges.Holding(uint64(addr), size)
	if known && (!s.ReadOnly || need == device.AccessRead) {
		return nil
	}
	shared, writable := o.ranges.Sharing(uint64(addr), size)
	switch {
	case shared && (writable || need == device.AccessRead):
		return nil
	case known || shared:
		return o.ctx.errorf(device.CodePermissionDenied, op, "%s %#x, size %d: was adopted as read-only", what, uint64(addr), size)
	}
	return o.virtual.book.Check(op, what, uint64(addr), size, need)
}
