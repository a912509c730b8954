package manager

import (
	"errors"

	"ferrum_mem/core/device"
)

// enqueue queues one piece of work on blocks, and adds it to them. The operation has
// extra more references than the blocks hold. If it fails, nothing has been queued. The
// caller holds the mu of each block.
func enqueue(op string, s *stream, work func(device.Stream) error, extra int, blocks ...*block) (*operation, error) {
	blocks = distinct(blocks)
	for _, b := range blocks {
		if err := b.usable(op); err != nil {
			return nil, err
		}
	}
	o := &operation{stream: s}
	o.refs.Store(int32(len(blocks) + extra))
	err := s.queue(op, func(dev device.Stream) error {
		if err := work(dev); err != nil {
			return err
		}
		// The work is queued: it runs whether its end can be marked or not.
		if event, err := dev.RecordEvent(); err == nil {
			o.event = event
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		b.attach(o)
	}
	return o, nil
}

// distinct returns one block or two, without a duplicate.
func distinct(blocks []*block) []*block {
	if len(blocks) == 2 && blocks[0] == blocks[1] {
		return blocks[:1]
	}
	return blocks
}

// awaitEarlier waits for the work queued now on the streams that have used the blocks,
// except one stream.
func awaitEarlier(except *stream, blocks ...*block) error {
	for _, b := range distinct(blocks) {
		b.mu.Lock()
		fences, err := b.fences(except)
		b.mu.Unlock()
		if err != nil {
			return err
		}
		err = waitAll(fences)
		b.manager.owner.closeEvents(fences...)
		if err != nil {
			return err
		}
	}
	return nil
}

// runNow queues work on the default stream of the first block's device, after all
// earlier work on the blocks, and waits for it. One or two uses name the blocks; uses
// with a size are recorded as accesses.
func (f *Factory) runNow(op string, work func(*stream) func(device.Stream) error, uses ...use) error {
	return endedInstead(op, f.runToTheEnd(op, work, uses), blocksOf(uses)...)
}

// endedInstead replaces the error of a device that was closed with its blocks during a
// call.
func endedInstead(op string, err error, blocks ...*block) error {
	if !errors.Is(err, device.CodeInvalidState) {
		return err
	}
	for _, b := range blocks {
		b.mu.Lock()
		ended := b.usable(op)
		b.mu.Unlock()
		if ended != nil {
			return ended
		}
	}
	return err
}

func (f *Factory) runToTheEnd(op string, work func(*stream) func(device.Stream) error, uses []use) error {
	blocks := blocksOf(uses)
	s, err := f.defaultStream(blocks[0].manager.owner)
	if err != nil {
		return err
	}
	// A stream that cannot be waited for, for example inside its own host function,
	// reports that before anything is queued.
	if err := s.dev.Synchronize(0); err != nil && !errors.Is(err, device.CodeTimeout) {
		return err
	}
	if err := awaitEarlier(s, blocks...); err != nil {
		return err
	}
	unlock := lockBoth(blocks[0], blocks[len(blocks)-1])
	o, err := enqueue(op, s, work(s), 1, blocks...)
	if err == nil {
		recordLocked(uses)
	}
	unlock()
	if err != nil {
		return err
	}
	defer o.release()
	if err := s.dev.Synchronize(device.Forever); err != nil {
		// Wait also after a failure, so that the work is not in flight any more.
		return errors.Join(err, o.wait())
	}
	o.passed.Store(true)
	return s.takeFailure()
}
