package streams

import (
	"math"

	"ferrum_mem/core/device"
)

// When an operation is queued, every range is checked against the live segments and mapped
// pages of its device. They are held until the operation has run. So a wrong range returns
// an error here and never crashes the worker.

func (s *Stream) Copy(dst, src device.Addr, size uint64) error {
	return s.CopyFrom("host.copy", dst, s.set.memory, src, size)
}

// CopyFrom queues a copy from a range of a host device's memory to a range of this stream's
// device.
func (s *Stream) CopyFrom(op string, dst device.Addr, from Memory, src device.Addr, size uint64) error {
	if err := s.check(op); err != nil {
		return err
	}
	o, err := s.hold(op, dst, from, src, size)
	if err != nil {
		return err
	}
	return s.push(op, o)
}

// hold returns the operation of a copy, which holds the memory of its ranges.
func (s *Stream) hold(op string, dst device.Addr, from Memory, src device.Addr, size uint64) (operation, error) {
	dstHeld, err := s.set.memory.Acquire(op, "destination", dst, size, device.AccessReadWrite)
	if err != nil {
		return operation{}, err
	}
	srcHeld, err := from.Acquire(op, "source", src, size, device.AccessRead)
	if err != nil {
		dstHeld.Release()
		return operation{}, err
	}
	return operation{
		kind: kindMove, dst: uint64(dst), src: uint64(src), size: size, dstHeld: dstHeld, srcHeld: srcHeld,
	}, nil
}

// CopyBatch queues the copies as one entry: all of them or none.
func (s *Stream) CopyBatch(copies []device.Move) error {
	const op = "host.copy_batch"
	if err := s.check(op); err != nil {
		return err
	}
	held := make(moves, 0, len(copies))
	for i, c := range copies {
		o, err := s.hold(op, c.Dst, s.set.memory, c.Src, c.SizeBytes)
		if err != nil {
			held.Release()
			return device.AtIndex("copies", i, err)
		}
		held = append(held, o)
	}
	if len(held) == 0 {
		return nil
	}
	return s.push(op, operation{kind: kindMoves, dstHeld: held})
}

func (s *Stream) CopyFromHost(dst device.Addr, src device.HostAddr, size uint64) error {
	const op = "host.copy_from_host"
	if err := s.check(op); err != nil {
		return err
	}
	used, err := s.set.memory.Acquire(op, "destination", dst, size, device.AccessReadWrite)
	if err != nil {
		return err
	}
	if err := s.checkHostRange(op, "source", src, size); err != nil {
		used.Release()
		return err
	}
	return s.push(op, operation{
		kind: kindMove, dst: uint64(dst), src: uint64(src), size: size, dstHeld: used,
	})
}

func (s *Stream) CopyToHost(dst device.HostAddr, src device.Addr, size uint64) error {
	const op = "host.copy_to_host"
	if err := s.check(op); err != nil {
		return err
	}
	used, err := s.set.memory.Acquire(op, "source", src, size, device.AccessRead)
	if err != nil {
		return err
	}
	if err := s.checkHostRange(op, "destination", dst, size); err != nil {
		used.Release()
		return err
	}
	return s.push(op, operation{
		kind: kindMove, dst: uint64(dst), src: uint64(src), size: size, srcHeld: used,
	})
}

// checkHostRange returns an error for a range that cannot be memory. size must also fit a
// Go slice. The caller has checked a segment of that size, which guarantees it.
func (s *Stream) checkHostRange(op, what string, addr device.HostAddr, size uint64) error {
	if addr == 0 {
		return s.errorf(device.CodeNullPointer, op, "%s: must not be NULL", what)
	}
	if size > math.MaxUint64-uint64(addr) {
		return s.errorf(device.CodeOverflow, op,
			"%s %#x, size %d: the end does not fit 64 bits", what, uint64(addr), size)
	}
	return nil
}

func (s *Stream) Fill(dst device.Addr, pattern device.Pattern, size uint64) error {
	const op = "host.fill"
	if err := s.check(op); err != nil {
		return err
	}
	if err := s.checkPattern(op, dst, pattern, size); err != nil {
		return err
	}
	used, err := s.set.memory.Acquire(op, "destination", dst, size, device.AccessReadWrite)
	if err != nil {
		return err
	}
	return s.push(op, operation{
		kind: kindFill, dst: uint64(dst), size: size, value: pattern.Value, width: uint8(pattern.WidthBytes), dstHeld: used,
	})
}

func (s *Stream) checkPattern(op string, dst device.Addr, pattern device.Pattern, size uint64) error {
	width := uint64(pattern.WidthBytes)
	if width != 1 && width != 2 && width != 4 && width != 8 {
		return s.errorf(device.CodeInvalidArgument, op, "pattern width %d: want 1, 2, 4 or 8 bytes", pattern.WidthBytes)
	}
	if pattern.Value>>(8*width) != 0 {
		return s.errorf(device.CodeInvalidArgument, op,
			"pattern %#x: does not fit its width of %v", pattern.Value, device.Size(width))
	}
	if size%width != 0 {
		return s.errorf(device.CodeInvalidSize, op, "size %d: not a multiple of the pattern width %d", size, width)
	}
	if uint64(dst)%width != 0 {
		return s.errorf(device.CodeInvalidArgument, op,
			"destination %#x: not a multiple of the pattern width %d", uint64(dst), width)
	}
	return nil
}

// HostFunction runs fn on a thread that runs nothing else meanwhile. If fn panics, the
// panic is reported like a panic of a worker, the stream continues, and the next
// Synchronize returns CodeInternal. If no thread is available, HostFunction returns
// CodeResourceExhausted or the error of the system.
func (s *Stream) HostFunction(fn func()) error {
	return s.pushHost(fn == nil, operation{kind: kindHost, function: fn})
}

// HostWork is HostFunction for a function that can fail. The next Synchronize returns its error.
func (s *Stream) HostWork(fn func() error) error {
	return s.pushHost(fn == nil, operation{kind: kindHost, fallible: fn})
}

func (s *Stream) pushHost(isNil bool, o operation) error {
	const op = "host.host_function"
	if err := s.check(op); err != nil {
		return err
	}
	if isNil {
		return s.errorf(device.CodeNullPointer, op, "function: must not be nil")
	}
	// The thread is reserved before the function is queued, because the runtime would end
	// the process if it could not create a thread later.
	if err := s.holdHostThread(op); err != nil {
		return err
	}
	err := s.push(op, o)
	if err != nil {
		s.dropHostThread()
	}
	return err
}

// Prefetch queues the allocation of a range's memory.
func (s *Stream) Prefetch(op string, addr device.Addr, size uint64) error {
	if err := s.check(op); err != nil {
		return err
	}
	used, err := s.set.memory.Acquire(op, "memory", addr, size, device.AccessRead)
	if err != nil {
		return err
	}
	return s.push(op, operation{kind: kindPrefetch, dst: uint64(addr), size: size, dstHeld: used})
}

func (s *Stream) RecordEvent() (device.Event, error) {
	const op = "host.record_event"
	e := &event{mark: &mark{}, stream: s}
	if s.foreign != nil {
		if err := s.push(op, operation{kind: kindRecord, mark: e.mark}); err == nil {
			return e, nil
		} else if left := s.leftEvent(); left == nil {
			return nil, err
		} else {
			return left, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if newest := s.queue.newest(); newest != nil && newest.kind == kindRecord && !s.shutting.Load() {
		return &event{mark: newest.mark, stream: s}, nil
	}
	if s.completed.Load() != s.submitted.Load() {
		if err := s.pushLocked(op, operation{kind: kindRecord, mark: e.mark}); err != nil {
			return nil, err
		}
		return e, nil
	}
	if err := s.check(op); err != nil {
		return nil, err
	}
	e.pass(s.set.start)
	return e, nil
}

// WaitEvent queues nothing if the event has completed or belongs to this stream.
func (s *Stream) WaitEvent(waited device.Event) error {
	const op = "host.wait_event"
	if err := s.check(op); err != nil {
		return err
	}
	if waited == nil {
		return s.errorf(device.CodeNullPointer, op, "event: must not be nil")
	}
	e, ok := waited.(*event)
	if !ok || e == nil {
		return s.errorf(device.CodeUnsupported, op, "event: of type %T, which is another backend's", waited)
	}
	if err := e.check(op); err != nil {
		return err
	}
	if e.stream == s || e.passed.Load() {
		return nil
	}
	return s.push(op, operation{kind: kindWait, mark: e.mark})
}
