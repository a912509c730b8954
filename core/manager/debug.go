package manager

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

// In debug mode every byte of a new block is NewBlockPattern, and of a freed
// one FreedBlockPattern until the memory is handed out again or given back.
const (
	NewBlockPattern   = 0xCD
	FreedBlockPattern = 0xDD
)

// markNew fills memory that nobody knows yet, and waits: the caller may use the
// block on any stream.
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
		// The memory goes back to the pool: no fill may come after that.
		return errors.Join(err, s.drain())
	}
	return nil
}

// markFreed queues a fill behind the events after which a block's memory is free. It
// gives the events that are left to be waited for, and to be closed, also when it fails:
// the fill's own, unless that has been waited for, and those that the stream has not
// taken over.
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
			// The block's content is on its way to be lost, so there is no way
			// back: without an event the end is waited for.
			return s.drain()
		}
		left = append(left, filled)
		return nil
	})
	return left, err
}

// awaitOnStream has an event of another backend waited for by the host, on the stream's
// own thread, which closes it then: whoever waits for the stream need not know of it.
func (m *Manager) awaitOnStream(s *stream, dev device.Stream, fence device.Event) error {
	return dev.HostFunction(func() {
		s.fail(fence.Synchronize(device.Forever))
		m.owner.closeEvents(fence)
	})
}
