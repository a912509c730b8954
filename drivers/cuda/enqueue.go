package cuda

import (
	"fmt"
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// bounceBytes is the size of one step of an overlapping copy.
const bounceBytes = 1 << 20

// mostParts is the maximum number of parts of one copy when the device has no memory for a
// bounce buffer.
const mostParts = 1 << 16

// Copy copies bytes within the device. The vendor driver leaves the result of an
// overlapping copy undefined. Such a copy is cut into parts that run one after the other,
// starting at the end where no part overwrites bytes that a later part reads.
func (s *stream) Copy(dst, src device.Addr, size uint64) error {
	const op = "cuda.copy"
	o := s.owner
	if err := s.check(op); err != nil {
		return err
	}
	if err := o.check(op, "destination", dst, size, device.AccessReadWrite); err != nil {
		return err
	}
	if err := o.check(op, "source", src, size, device.AccessRead); err != nil {
		return err
	}
	return s.use(op, func() error { return s.moveAnyhow(op, uint64(dst), uint64(src), size) })
}

// overlap states whether two ranges of one size share bytes.
func overlap(dst, src, size uint64) bool { return max(dst, src)-min(dst, src) < size }

// moveAnyhow copies bytes that work of this device may use. The ranges may overlap.
func (s *stream) moveAnyhow(op string, dst, src, size uint64) error {
	switch {
	case dst == src:
		return nil
	case overlap(dst, src, size):
		return s.moveOverlapping(op, dst, src, size)
	}
	return s.move(op, dst, src, size)
}

func (s *stream) move(op string, dst, src, size uint64) error {
	return s.owner.ctx.call(op, fmt.Sprintf("destination %#x, source %#x, size %d", dst, src, size),
		&s.owner.ctx.api.copyWithin, uintptr(dst), uintptr(src), uintptr(size), s.handle)
}

// moveOverlapping copies in parts that do not overlap, if such parts are large enough. Else
// it copies through memory that is allocated and freed in the stream's order.
func (s *stream) moveOverlapping(op string, dst, src, size uint64) (err error) {
	o := s.owner
	part, through := max(dst, src)-min(dst, src), uint64(0)
	if part < bounceBytes && o.ordered {
		part = min(size, bounceBytes)
		what := fmt.Sprintf("%v for an overlapping copy", device.Size(part))
		if err := o.ctx.call(op, what, &o.ctx.api.orderedAlloc, dl.Pointer(&through), uintptr(part), s.handle); err != nil {
			return err
		}
		defer func() {
			freed := o.ctx.call(op, what, &o.ctx.api.orderedFree, uintptr(through), s.handle)
			if freed == nil {
				return
			}
			// The memory of a capture belongs to its graph.
			if captures, _ := s.captures(op); !captures {
				o.ctx.finishFirst(op, what, &o.ctx.api.orderedFree, uintptr(through), s.handle)
			}
			if err == nil {
				err = freed
			}
		}()
	}
	if through == 0 && size/part > mostParts {
		return o.ctx.errorf(device.CodeUnsupported, op,
			"size %d, %v apart: the device has no stream-ordered memory to copy ranges through that overlap so much", size, device.Size(part))
	}
	for done := uint64(0); done < size; {
		n := min(part, size-done)
		at := done
		if dst > src {
			at = size - done - n
		}
		from := src + at
		if through != 0 {
			if err := s.move(op, through, from, n); err != nil {
				return err
			}
			from = through
		}
		if err := s.move(op, dst+at, from, n); err != nil {
			return err
		}
		done += n
	}
	return nil
}

// CopyBatch checks all copies, and queues them one after the other.
func (s *stream) CopyBatch(copies []device.Move) error {
	const op = "cuda.copy_batch"
	o := s.owner
	if err := s.check(op); err != nil {
		return err
	}
	for i, c := range copies {
		err := o.check(op, "destination", c.Dst, c.SizeBytes, device.AccessReadWrite)
		if err == nil {
			err = o.check(op, "source", c.Src, c.SizeBytes, device.AccessRead)
		}
		if err != nil {
			return device.AtIndex("copies", i, err)
		}
	}
	return s.use(op, func() error {
		for i, c := range copies {
			if err := s.moveAnyhow(op, uint64(c.Dst), uint64(c.Src), c.SizeBytes); err != nil {
				return device.AtIndex(fmt.Sprintf("%d copies are queued already; copies", i), i, err)
			}
		}
		return nil
	})
}

func (s *stream) CopyFromHost(dst device.Addr, src device.HostAddr, size uint64) error {
	const op = "cuda.copy_from_host"
	if err := s.checkTransfer(op, dst, src, size, device.AccessReadWrite); err != nil {
		return err
	}
	return s.use(op, func() error {
		if err := s.mayCapturePages(op, "source", src, size); err != nil {
			return err
		}
		return s.owner.ctx.call(op, fmt.Sprintf("destination %#x, source %#x, size %d", uint64(dst), uint64(src), size),
			&s.owner.ctx.api.copyIn, uintptr(dst), uintptr(src), uintptr(size), s.handle)
	})
}

func (s *stream) CopyToHost(dst device.HostAddr, src device.Addr, size uint64) error {
	const op = "cuda.copy_to_host"
	if err := s.checkTransfer(op, src, dst, size, device.AccessRead); err != nil {
		return err
	}
	return s.use(op, func() error {
		if err := s.mayCapturePages(op, "destination", dst, size); err != nil {
			return err
		}
		return s.owner.ctx.call(op, fmt.Sprintf("destination %#x, source %#x, size %d", uint64(dst), uint64(src), size),
			&s.owner.ctx.api.copyOut, uintptr(dst), uintptr(src), uintptr(size), s.handle)
	})
}

// mayCapturePages returns an error for pageable host memory while the stream captures. Older
// drivers would invalidate the capture. Driver 580 would capture the copy, and each launch of
// the graph would then use memory that the program may have freed.
func (s *stream) mayCapturePages(op, what string, host device.HostAddr, size uint64) error {
	captures, err := s.captures(op)
	if err != nil || !captures {
		return err
	}
	var base, whole uint64
	attribute := &s.owner.ctx.api.pointerAttribute
	if attribute.Call(dl.Pointer(&base), pointerRangeStart, uintptr(host)) == 0 &&
		attribute.Call(dl.Pointer(&whole), pointerRangeSize, uintptr(host)) == 0 &&
		uint64(host)-base < whole && size <= whole-(uint64(host)-base) {
		return nil
	}
	return s.owner.ctx.errorf(device.CodeInvalidState, op,
		"%s %#x, size %d: the stream is capturing, and this memory is not page-locked: a graph would use it at every launch", what, uint64(host), size)
}

// checkTransfer checks the arguments of a copy between the device and the host.
func (s *stream) checkTransfer(op string, addr device.Addr, host device.HostAddr, size uint64, need device.Access) error {
	if err := s.check(op); err != nil {
		return err
	}
	what, other := "source", "destination"
	if need == device.AccessReadWrite {
		what, other = other, what
	}
	if err := s.owner.check(op, what, addr, size, need); err != nil {
		return err
	}
	if host == 0 {
		return s.owner.ctx.errorf(device.CodeNullPointer, op, "%s: must not be NULL", other)
	}
	if size > math.MaxUint64-uint64(host) {
		return s.owner.ctx.errorf(device.CodeOverflow, op,
			"%s %#x, size %d: the end does not fit 64 bits", other, uint64(host), size)
	}
	return nil
}

func (s *stream) Fill(dst device.Addr, pattern device.Pattern, size uint64) error {
	const op = "cuda.fill"
	if err := s.check(op); err != nil {
		return err
	}
	if err := s.checkPattern(op, dst, pattern, size); err != nil {
		return err
	}
	if err := s.owner.check(op, "destination", dst, size, device.AccessReadWrite); err != nil {
		return err
	}
	return s.use(op, func() error { return s.fill(op, uint64(dst), pattern, size) })
}

func (s *stream) fill(op string, dst uint64, pattern device.Pattern, size uint64) error {
	if pattern.WidthBytes == 8 {
		return s.fillHalves(op, dst, pattern.Value, size)
	}
	call := map[int]*dl.Function{1: &s.owner.ctx.api.fill8, 2: &s.owner.ctx.api.fill16, 4: &s.owner.ctx.api.fill32}[pattern.WidthBytes]
	return s.owner.ctx.call(op, fmt.Sprintf("destination %#x, size %d", dst, size), call,
		uintptr(dst), uintptr(pattern.Value), uintptr(size/uint64(pattern.WidthBytes)), s.handle)
}

// fillHalves fills with 8 bytes. The driver fills with at most 4, so each half is a column of its own: rows
// of 8 bytes of which 4 are written.
func (s *stream) fillHalves(op string, dst, value, size uint64) error {
	const rowBytes, columnBytes = 8, 4
	for _, half := range []uint64{0, 1} {
		err := s.owner.ctx.call(op, fmt.Sprintf("destination %#x, size %d", dst, size), &s.owner.ctx.api.fillColumn32,
			uintptr(dst+half*columnBytes), rowBytes, uintptr(uint32(value>>(32*half))), 1, uintptr(size/rowBytes), s.handle)
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) checkPattern(op string, dst device.Addr, pattern device.Pattern, size uint64) error {
	o, width := s.owner, uint64(pattern.WidthBytes)
	if width != 1 && width != 2 && width != 4 && width != 8 {
		return o.ctx.errorf(device.CodeInvalidArgument, op, "pattern width %d: want 1, 2, 4 or 8 bytes", pattern.WidthBytes)
	}
	if pattern.Value>>(8*width) != 0 {
		return o.ctx.errorf(device.CodeInvalidArgument, op,
			"pattern %#x: does not fit its width of %v", pattern.Value, device.Size(width))
	}
	if size%width != 0 {
		return o.ctx.errorf(device.CodeInvalidSize, op, "size %d: not a multiple of the pattern width %d", size, width)
	}
	if uint64(dst)%width != 0 {
		return o.ctx.errorf(device.CodeInvalidArgument, op,
			"destination %#x: not a multiple of the pattern width %d", uint64(dst), width)
	}
	return nil
}
