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

// markFreed queues a fill behind the events after which a block's memory is
// free, and gives the event that marks its end; nil when it has been waited for.
func (m *Manager) markFreed(memory pool.Block, fences []device.Event) (device.Event, error) {
	s, err := m.factory.defaultStream(m.owner)
	if err != nil {
		return nil, err
	}
	var filled device.Event
	err = s.queue("manager.mark_freed", func(dev device.Stream) error {
		for _, fence := range fences {
			err := dev.WaitEvent(fence)
			if errors.Is(err, device.CodeUnsupported) {
				// An event of another backend is waited for by the host, on the
				// stream's own thread.
				err = dev.HostFunction(func() { s.fail(fence.Synchronize(device.Forever)) })
			}
			if err != nil {
				return err
			}
		}
		if err := dev.Fill(memory.Addr, device.Pattern{Value: FreedBlockPattern, WidthBytes: 1}, memory.SizeBytes); err != nil {
			return err
		}
		var err error
		if filled, err = dev.RecordEvent(); err != nil {
			// The block's content is on its way to be lost, so there is no way
			// back: without an event the end is waited for.
			filled = nil
			return s.drain()
		}
		return nil
	})
	return filled, err
}
