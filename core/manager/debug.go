package manager

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

// In debug mode every byte of a new block is NewBlockPattern. Every byte of a freed
// block is FreedBlockPattern until the memory is reused or released.
const (
	NewBlockPattern   = 0xCD
	FreedBlockPattern = 0xDD
)

// markNew fills memory of a new block, and waits for the fill, because the caller may
// use the block on any stream.
func (m *Manager) markNew(memory pool.Block) error {
	if !m.config.EnableDebug {
		return nil
	}
	s, err := m.factory.defaultStream(m.owner)
	if err != nil {
		return err
	}
	var filled device.Event
	err = s.queue("manager.mark_new", func(dev device.Stream) (err error) {
		if err = dev.Fill(memory.Addr, device.Pattern{Value: NewBlockPattern, WidthBytes: 1}, memory.SizeBytes); err != nil {
			return err
		}
		filled, err = dev.RecordEvent()
		return err
	})
	if err == nil {
		err = filled.Synchronize(device.Forever)
		m.owner.closeEvents(filled)
	}
	if err != nil {
		// The memory returns to the pool, so no fill may run after that.
		return errors.Join(err, s.drain())
	}
	return nil
}

// markFreed queues a fill after the events of a freed block. It returns the events that
// remain to be waited for and closed, also if it fails: the event of the fill, unless
// it was waited for, and the events that the stream has not taken over.
func (m *Manager) markFreed(memory pool.Block, fences []device.Event) (left []device.Event, err error) {
	s, err := m.factory.defaultStream(m.owner)
	if err != nil {
		return fences, err
	}
	left = fences
	err = s.queue("manager.mark_freed", func(dev device.Stream) error {
		left = make([]device.Event, 0, len(fences)+1)
		for i, fence := range fences {
			err := dev.WaitEvent(fence)
			if err == nil {
				left = append(left, fence)
				continue
			}
			if errors.Is(err, device.CodeUnsupported) {
				err = m.awaitOnStream(s, dev, fence)
			}
			if err != nil {
				left = append(left, fences[i:]...)
				return err
			}
		}
		if err := dev.Fill(memory.Addr, device.Pattern{Value: FreedBlockPattern, WidthBytes: 1}, memory.SizeBytes); err != nil {
			return err
		}
		filled, err := dev.RecordEvent()
		if err != nil {
			// The contents of the block are being overwritten, so the free cannot be
			// undone. Without an event it waits for the end of the fill.
			return s.drain()
		}
		left = append(left, filled)
		return nil
	})
	return left, err
}

// awaitOnStream makes the host wait for an event of another backend, in a host function
// of the stream, which then closes the event. So a wait for the stream includes this
// wait.
func (m *Manager) awaitOnStream(s *stream, dev device.Stream, fence device.Event) error {
	return dev.HostFunction(func() {
		s.fail(fence.Synchronize(device.Forever))
		m.owner.closeEvents(fence)
	})
}
