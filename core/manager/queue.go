package manager

import (
	"errors"

	"ferrum_mem/core/device"
)

// enqueue queues one piece of work on blocks, and enters it in them. The operation
// comes with extra references besides those of the blocks. When it fails, nothing has
// been queued. The caller holds the mu of each block.
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
		// The work is queued: it happens whether its end can be marked or not.
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

// distinct is one block or two, without one that is given twice.
func distinct(blocks []*block) []*block {
	if len(blocks) == 2 && blocks[0] == blocks[1] {
		return blocks[:1]
	}
	return blocks
}

// awaitEarlier waits for what is queued now on the streams that have used the
// blocks, but for one.
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

// runNow queues work on the default stream of the first block's device, after
// everything earlier on the blocks, and returns when it is done. One or two uses
// say which blocks; those of a size are entered as accesses.
func (f *Factory) runNow(op string, work func(*stream) func(device.Stream) error, uses ...use) error {
	return endedInstead(op, f.runToTheEnd(op, work, uses), blocksOf(uses)...)
}

// endedInstead replaces what a device says that was closed with its blocks while a call
// used them.
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
	// A stream that cannot be waited for, as from its own host function, says so
	// before anything is queued.
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
		// Also when it failed, it may not be on its way any more.
		return errors.Join(err, o.wait())
	}
	o.passed.Store(true)
	return s.takeFailure()
}
